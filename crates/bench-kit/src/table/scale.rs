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
            Metric::LossRate => Self::new(0.01, "%"),
            Metric::CpuSecondsPerGigabyteSender | Metric::CpuSecondsPerGigabyteReceiver => {
                Self::new(1.0, "s/GB")
            }
            Metric::RttMsP50
            | Metric::RttMsP95
            | Metric::RttMsP99
            | Metric::QueueDelayMsP50
            | Metric::QueueDelayMsP95
            | Metric::QueueDelayMsP99 => Self::new(1.0, "ms"),
        }
    }

    /// `bit/s` with the largest decimal prefix that leaves `largest` at least one.
    pub fn bits_per_second(largest: f64) -> Self {
        match largest {
            v if v >= 1e9 => Self::new(1e9, "Gbit/s"),
            v if v >= 1e6 => Self::new(1e6, "Mbit/s"),
            v if v >= 1e3 => Self::new(1e3, "kbit/s"),
            _ => Self::new(1.0, "bit/s"),
        }
    }

    /// Bytes with the largest decimal prefix that leaves `largest` at least one.
    pub fn bytes(largest: f64) -> Self {
        match largest {
            v if v >= 1e9 => Self::new(1e9, "GB"),
            v if v >= 1e6 => Self::new(1e6, "MB"),
            v if v >= 1e3 => Self::new(1e3, "kB"),
            _ => Self::new(1.0, "B"),
        }
    }

    const fn new(divisor: f64, unit: &'static str) -> Self {
        Self { divisor, unit }
    }

    /// `value` in this unit, without its name, in three significant digits.
    pub fn show(self, value: f64) -> String {
        significant(value / self.divisor)
    }
}

/// `value` in three significant digits, without an exponent: `0.0123`, `4.41`, `94.1`, `1234`.
///
/// Below 0.001 it is `0.000` with what three digits behind that leave; zero is `0`.
pub fn significant(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        0.0 => 0,
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.9995 => 2,
        s if s >= 0.099_95 => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}
