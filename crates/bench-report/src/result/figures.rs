use super::finite::Finite;
use super::quantity::{COUNT, Definition, Join, Quantity, Unit, Unknown};
use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A sender's quantities over a stretch of time, as they are counted: packets, bytes, bits per
/// second, nanoseconds, millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts([Option<u64>; COUNT]);

impl Counts {
    /// Those that are known.
    pub fn of(known: impl IntoIterator<Item = (Quantity, u64)>) -> Self {
        let mut counts = Self::default();
        for (quantity, count) in known {
            counts.set(quantity, Some(count));
        }
        counts
    }

    /// The count of `quantity`; `None` when it is not known.
    pub const fn get(&self, quantity: Quantity) -> Option<u64> {
        self.0[quantity as usize]
    }

    /// The same of a time.
    pub fn time(&self, quantity: Quantity) -> Option<Duration> {
        self.get(quantity).map(Duration::from_nanos)
    }

    /// Sets the count of `quantity`.
    pub fn set(&mut self, quantity: Quantity, count: Option<u64>) {
        self.0[quantity as usize] = count;
    }

    /// The same of a time; more than 584 years are as many.
    pub fn set_time(&mut self, quantity: Quantity, time: Option<Duration>) {
        self.set(quantity, time.map(units::duration::nanos));
    }

    /// This stretch and the one before it: amounts add up, states are this one's.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        for quantity in Quantity::ALL {
            if quantity.definition().adds_up
                && let Some(before) = before.get(quantity)
            {
                let sum = self.get(quantity).unwrap_or(0).saturating_add(before);
                self.set(quantity, Some(sum));
            }
        }
        self
    }

    /// The states of this stretch without its amounts, to begin the next one with.
    pub fn clear_amounts(&mut self) {
        for quantity in Quantity::ALL {
            if quantity.definition().adds_up {
                let count = self.get(quantity).map(|_| 0);
                self.set(quantity, count);
            }
        }
    }

    /// As intervals have them; the stretch took so many seconds. A share of the time is at most
    /// all of it: the sender's clock may be ahead.
    pub fn figures(&self, seconds: Finite) -> Figures {
        let mut figures = Figures::default();
        for quantity in Quantity::ALL {
            let Some(count) = self.get(quantity) else {
                continue;
            };
            let time = Duration::from_nanos(count);
            let figure = match quantity.definition().unit {
                Unit::Packets | Unit::Bytes | Unit::BitsPerSecond => Finite::new(count as f64),
                Unit::Time => Some(Finite::millis(time)),
                Unit::Gain => Finite::new(count as f64 / 1e6),
                Unit::ShareOfTime => Finite::new((time.as_secs_f64() / seconds.get()).min(1.0)),
            };
            figures.set(quantity, figure);
        }
        figures
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = Quantity::ALL.into_iter();
        serializer.collect_map(known.filter_map(|q| Some((q.name(), self.get(q)?))))
    }
}

impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let named = BTreeMap::<String, u64>::deserialize(deserializer)?;
        let count = |quantity: Quantity| Some((quantity, *named.get(quantity.name())?));
        Ok(Self::of(Quantity::ALL.into_iter().filter_map(count)))
    }
}

/// A sender's quantities in the units of their names.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures([Option<Finite>; COUNT]);

impl Figures {
    /// Those that are known; no number is unknown.
    pub fn of(known: impl IntoIterator<Item = (Quantity, f64)>) -> Self {
        let mut figures = Self::default();
        for (quantity, figure) in known {
            figures.set(quantity, Finite::new(figure));
        }
        figures
    }

    /// The figure of `quantity`; `None` when it is not known.
    pub const fn get(&self, quantity: Quantity) -> Option<Finite> {
        self.0[quantity as usize]
    }

    /// The same as a whole number, rounded to the nearest; a time in nanoseconds.
    pub fn whole(&self, quantity: Quantity) -> Option<u64> {
        let figure = self.get(quantity)?.get();
        Some(match quantity.definition().unit {
            Unit::Time => (figure * 1e6).round() as u64,
            _ => figure.round() as u64,
        })
    }

    /// Sets the figure of `quantity`.
    pub fn set(&mut self, quantity: Quantity, figure: Option<Finite>) {
        self.0[quantity as usize] = figure;
    }

    /// With another figure of `quantity`.
    #[must_use]
    pub const fn with(mut self, quantity: Quantity, figure: Option<Finite>) -> Self {
        self.0[quantity as usize] = figure;
        self
    }

    /// Those that intervals have.
    #[must_use]
    pub fn of_interval(mut self) -> Self {
        let all = Quantity::ALL.into_iter();
        all.filter(|quantity| !quantity.is_in_intervals())
            .for_each(|quantity| self.set(quantity, None));
        self
    }

    /// The figures of several connections together; of one, its own.
    pub fn joined(connections: &[Self]) -> Self {
        if let [one] = connections {
            return *one;
        }
        let mut joined = Self::default();
        for quantity in Quantity::ALL {
            let known = connections
                .iter()
                .filter_map(|figures| figures.get(quantity));
            let known: Vec<f64> = known.map(Finite::get).collect();
            let sum = || known.iter().sum::<f64>();
            let figure = match quantity.definition().over_connections {
                _ if known.is_empty() => None,
                Join::Sum => Finite::new(sum()),
                Join::Mean => Finite::new(sum() / known.len() as f64),
                Join::Min => Finite::new(known.iter().copied().fold(f64::INFINITY, f64::min)),
                Join::First => Finite::new(known[0]),
                Join::Nothing => None,
            };
            joined.set(quantity, figure);
        }
        joined
    }

    /// The figure as intervals and CSV write it.
    pub fn written(&self, quantity: Quantity) -> Option<Written> {
        let figure = self.get(quantity)?;
        Some(match quantity.definition().unit {
            Unit::Packets | Unit::Bytes | Unit::BitsPerSecond => {
                Written::Whole(figure.get().round() as u64)
            }
            Unit::Time | Unit::Gain | Unit::ShareOfTime => Written::Real(figure),
        })
    }

    /// The figure as iperf3's rows write it.
    fn row_written(&self, quantity: Quantity) -> Option<Written> {
        match quantity.definition().unit {
            Unit::Time => Some(Written::Whole(self.whole(quantity)? / 1_000)),
            _ => self.written(quantity),
        }
    }
}

/// A number as JSON and CSV have it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Written {
    /// Without a point.
    Whole(u64),
    /// With one where it needs it.
    Real(Finite),
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Real(number) => fmt::Display::fmt(number, f),
        }
    }
}

/// Figures as fields of an interval.
pub(super) mod in_interval {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        figures: &Figures,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for quantity in Quantity::ALL {
            let figure = figures.written(quantity);
            match quantity.definition().unknown {
                Unknown::RowsOnly => {}
                Unknown::LeftOut if figure.is_none() => {}
                Unknown::Null | Unknown::LeftOut => {
                    map.serialize_entry(quantity.name(), &figure)?
                }
            }
        }
        map.end()
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Figures, D::Error> {
        let named = BTreeMap::<String, Value>::deserialize(deserializer)?;
        let all = Quantity::ALL.into_iter();
        let all = all.filter(|quantity| quantity.is_in_intervals());
        let mut figures = Figures::default();
        for quantity in all {
            figures.set(quantity, figure(&named, quantity.name(), 1.0)?);
        }
        Ok(figures)
    }
}

/// Figures as fields of an iperf3 row.
pub(super) mod in_row {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        figures: &Figures,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let known = Quantity::ALL.into_iter();
        let row = |q: Quantity| Some((q.definition().row, figures.row_written(q)?));
        serializer.collect_map(known.filter_map(row))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Figures, D::Error> {
        let named = BTreeMap::<String, Value>::deserialize(deserializer)?;
        let mut figures = Figures::default();
        for quantity in Quantity::ALL {
            let Definition { row, unit, .. } = quantity.definition();
            let scale = if *unit == Unit::Time { 1e3 } else { 1.0 };
            figures.set(quantity, figure(&named, row, scale)?);
        }
        Ok(figures)
    }
}

/// The number of this name, divided by `scale`; `None` where there is none or `null`.
fn figure<E: Error>(
    named: &BTreeMap<String, Value>,
    name: &str,
    scale: f64,
) -> Result<Option<Finite>, E> {
    match named.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_f64() {
            Some(number) => Ok(Finite::new(number / scale)),
            None => Err(E::custom(format!("`{name}` is not a number: {value}"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct InInterval {
        t: u32,
        #[serde(flatten, with = "in_interval")]
        figures: Figures,
        state: String,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct InRow {
        bytes: u32,
        #[serde(flatten, with = "in_row")]
        figures: Figures,
    }

    fn counts(values: &[Option<u64>]) -> Counts {
        let known = Quantity::ALL.into_iter().zip(values);
        Counts::of(known.filter_map(|(quantity, value)| Some((quantity, (*value)?))))
    }

    #[test]
    fn a_row_has_iperf3s_names_and_units() {
        let mut counts = Counts::default();
        counts.set_time(
            Quantity::SmoothedRtt,
            Some(Duration::from_nanos(40_123_999)),
        );
        counts.set(Quantity::Cwnd, Some(12_000));
        counts.set(Quantity::PacingGain, Some(1_250_000));
        counts.set(Quantity::Mtu, Some(1_452));
        let figures = counts.figures(Finite::ONE);
        let row = serde_json::to_string(&InRow { bytes: 7, figures }).unwrap();
        assert_eq!(
            row,
            r#"{"bytes":7,"rtt":40123,"snd_cwnd":12000,"pacing_gain":1.25,"pmtu":1452}"#
        );
        let interval = InInterval {
            t: 1,
            figures: figures.of_interval(),
            state: "Drain".to_owned(),
        };
        assert_eq!(
            serde_json::to_string(&interval).unwrap(),
            concat!(
                r#"{"t":1,"rtt_ms":40.123999,"cwnd_bytes":12000,"bytes_in_flight":null,"#,
                r#""pacing_rate_bits_per_second":null,"delivery_rate_bits_per_second":null,"#,
                r#""packets_lost":null,"packets_spuriously_lost":null,"#,
                r#""ecn_ce_packets":null,"pacing_gain":1.25,"state":"Drain"}"#
            )
        );
    }

    #[test]
    fn what_is_no_number_is_refused_by_its_name() {
        let interval = r#"{"t":1,"cwnd_bytes":"x","state":""}"#;
        let error = serde_json::from_str::<InInterval>(interval).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("`cwnd_bytes` is not a number: \"x\""),
            "{error}"
        );
        let row = serde_json::from_str::<InRow>(r#"{"bytes":1,"rtt":[]}"#);
        assert!(
            row.unwrap_err()
                .to_string()
                .contains("`rtt` is not a number")
        );
    }

    #[test]
    fn amounts_add_up_over_time_and_states_are_the_latest() {
        let all = |value: u64| counts(&[Some(value); COUNT]);
        let mut sum = all(3).after(&all(5));
        let is = |sum: &Counts, value| {
            let all = Quantity::ALL.into_iter();
            all.filter(|q| sum.get(*q) == Some(value))
                .collect::<Vec<_>>()
        };
        let amounts = [
            Quantity::PacketsLost,
            Quantity::SpuriouslyLost,
            Quantity::CeMarked,
            Quantity::ApplicationLimited,
        ];
        assert_eq!(is(&sum, 8), amounts);
        assert_eq!(is(&sum, 3).len(), COUNT - amounts.len());
        sum.clear_amounts();
        assert_eq!(is(&sum, 0), amounts);
    }

    #[test]
    fn connections_have_sums_means_and_nothing_that_belongs_to_one() {
        let figures = |value: u64| counts(&[Some(value * 1_000_000); COUNT]).figures(Finite::ONE);
        let [one, other] = [figures(2), figures(4)];
        assert_eq!(Figures::joined(&[one]), one);
        let joined = Figures::joined(&[one, other]);
        let shown = |quantity| joined.get(quantity).map(Finite::get);
        assert_eq!(shown(Quantity::Cwnd), Some(6e6));
        assert_eq!(shown(Quantity::SmoothedRtt), Some(3.0));
        assert_eq!(shown(Quantity::MinRtt), Some(2.0));
        assert_eq!(shown(Quantity::Mtu), Some(2e6));
        assert_eq!(shown(Quantity::PacingGain), None);
        assert_eq!(Figures::joined(&[]), Figures::default());
        let half = Figures::of([(Quantity::SmoothedRtt, 1.0)]);
        let joined = Figures::joined(&[half, Figures::default()]);
        assert_eq!(joined, half);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            values in prop::collection::vec(prop::option::of(0..=1_u64 << 50), COUNT)
        ) {
            let counts = counts(&values);
            let text = serde_json::to_string(&counts).unwrap();
            prop_assert_eq!(serde_json::from_str::<Counts>(&text).unwrap(), counts);
            let figures = counts.figures(Finite::new(0.3).unwrap());
            let interval = InInterval {
                t: 3,
                figures: figures.of_interval(),
                state: String::new(),
            };
            let text = serde_json::to_string(&interval).unwrap();
            prop_assert_eq!(&serde_json::from_str::<InInterval>(&text).unwrap(), &interval);
            let text = serde_json::to_string(&InRow { bytes: 3, figures }).unwrap();
            let row: InRow = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(serde_json::to_string(&row).unwrap(), text);
        }
    }
}
