use crate::result::Metric;

/// The unit in which people read a metric, chosen so that its values have few digits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// What a value is divided by.
    pub divisor: f64,
    /// The name of the unit: `Mbit/s`, `ms`, `%`.
    pub unit: &'static str,
}

impl Scale {
    /// The unit for `metric` whose largest value is `largest`.
    pub fn of(metric: Metric, largest: f64) -> Self {
        match metric {
            Metric::GoodputBitsPerSecond => Self::bits_per_second(largest),
            Metric::BytesRetransmitted => Self::bytes(largest),
            Metric::Seconds => Self::new(1.0, "s"),
            Metric::LossRate | Metric::FramesMissed => Self::percent(largest),
            Metric::CpuSecondsPerGigabyteSender | Metric::CpuSecondsPerGigabyteReceiver => {
                Self::new(1.0, "s/GB")
            }
            Metric::RttMsP50
            | Metric::RttMsP95
            | Metric::RttMsP99
            | Metric::QueueDelayMsP50
            | Metric::QueueDelayMsP95
            | Metric::QueueDelayMsP99
            | Metric::FrameLatencyMsP50
            | Metric::FrameLatencyMsP95
            | Metric::FrameLatencyMsP99
            | Metric::LongestFreezeMs => Self::milliseconds(largest),
        }
    }

    /// `bit/s` with the largest decimal prefix that leaves `largest` at least one.
    pub fn bits_per_second(largest: f64) -> Self {
        let units = [
            "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "Pbit/s", "Ebit/s",
        ];
        Self::with_prefix(largest, units)
    }

    /// Bytes with the largest decimal prefix that leaves `largest` at least one.
    pub fn bytes(largest: f64) -> Self {
        Self::with_prefix(largest, ["B", "kB", "MB", "GB", "TB", "PB", "EB"])
    }

    /// Milliseconds, or seconds from ten of them on.
    pub fn milliseconds(largest: f64) -> Self {
        if largest < 10_000.0 {
            Self::new(1.0, "ms")
        } else {
            Self::new(1_000.0, "s")
        }
    }

    /// Percent of shares from 0 to 1.
    pub fn percent(_: f64) -> Self {
        Self::new(0.01, "%")
    }

    /// Single things, or thousands or millions from ten of these on.
    pub fn count(largest: f64) -> Self {
        match largest {
            l if l < 1e4 => Self::new(1.0, ""),
            l if l < 1e7 => Self::new(1e3, "thousands"),
            _ => Self::new(1e6, "millions"),
        }
    }

    fn with_prefix(largest: f64, units: [&'static str; 7]) -> Self {
        let mut scale = Self::new(1.0, units[0]);
        for unit in &units[1..] {
            if largest < 1_000.0 * scale.divisor {
                break;
            }
            scale = Self::new(1_000.0 * scale.divisor, unit);
        }
        scale
    }

    const fn new(divisor: f64, unit: &'static str) -> Self {
        Self { divisor, unit }
    }

    /// `value` in this unit, without its name, in three significant digits.
    pub fn show(self, value: f64) -> String {
        significant(value / self.divisor)
    }
}

/// `value` in three significant digits: `0.0123`, `4.41`, `94.1`, `1234`; with an exponent and
/// fewer digits below 0.001 and from 100 000 on: `1e-4`, `1.8e13`.
pub fn significant(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        0.0 => 0,
        s if s < 0.000_999_5 => return format!("{value:.0e}"),
        s if s >= 99_999.5 => return format!("{value:.1e}"),
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.9995 => 2,
        s if s >= 0.099_95 => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}
