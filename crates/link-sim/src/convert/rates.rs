use crate::spec::{OPPORTUNITY, RateTrace};
use core::time::Duration;
use units::Bandwidth;

/// Which column of a CSV file has the rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateColumn<'a> {
    /// The only one.
    Only,
    /// By its place, the first being 1.
    Number(usize),
    /// By the first line.
    Named(&'a str),
}

/// The rates of a CSV file, one a line, in units of `unit`. Lines without a number in the column
/// are refused, except for the first one, which may be a heading.
///
/// # Errors
/// The line that has no such column, or no number from zero there.
pub fn rates_of_csv(
    text: &str,
    column: RateColumn<'_>,
    unit: Bandwidth,
) -> Result<Vec<Bandwidth>, String> {
    let lines = (1..).zip(text.lines());
    let mut lines = lines.filter(|(_, line)| !line.trim().is_empty()).peekable();
    let heading = lines.peek().map_or("", |(_, line)| *line);
    let place = place(column, heading)?;
    let number = |line: &str| -> Option<f64> {
        let number = cells(line).nth(place)?.parse().ok()?;
        (0.0..=MAX_NUMBER).contains(&number).then_some(number)
    };
    if number(heading).is_none() && cells(heading).count() > place {
        lines.next();
    }
    let rates = lines.map(|(at, line)| {
        let number = number(line).ok_or_else(|| {
            let column = place + 1;
            format!("line {at}: expected a rate from zero in column {column}")
        })?;
        // A product beyond 64 bits saturates, and is refused as a trace that is too fast.
        Ok(Bandwidth::from_bits_per_sec(
            (number * unit.bits_per_sec() as f64).round() as u64,
        ))
    });
    rates.collect()
}

/// The column's index.
fn place(column: RateColumn<'_>, heading: &str) -> Result<usize, String> {
    let names: Vec<&str> = cells(heading).collect();
    match column {
        RateColumn::Only if names.len() > 1 => Err(format!(
            "{} columns ({}); say which one has the rates",
            names.len(),
            names.join(", ")
        )),
        RateColumn::Only => Ok(0),
        RateColumn::Number(number) if (1..=names.len()).contains(&number) => Ok(number - 1),
        RateColumn::Number(number) => Err(format!("no column {number}; there are {}", names.len())),
        RateColumn::Named(name) => {
            let place = names.iter().position(|known| *known == name);
            place.ok_or_else(|| format!("no column `{name}`; there are {}", names.join(", ")))
        }
    }
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split([',', ';', '\t'])
        .map(|cell| cell.trim().trim_matches('"'))
}

/// A trace with these rates, each for a time of `every`. Its last millisecond has an opportunity,
/// whatever the rate, so that its length is that of the rates.
///
/// # Errors
/// A step that is not of whole milliseconds, no rates, and more than
/// [`RateTrace::MAX_OPPORTUNITIES`] or 2^32 milliseconds.
pub fn trace_of_rates(rates: &[Bandwidth], every: Duration) -> Result<RateTrace, String> {
    let step = u32::try_from(every.as_millis()).ok();
    let step = step.filter(|step| *step > 0 && Duration::from_millis(u64::from(*step)) == every);
    let step = step.ok_or("a step must be of whole milliseconds")?;
    let steps = u32::try_from(rates.len()).ok();
    let millis = steps.and_then(|steps| steps.checked_mul(step));
    let millis = millis.ok_or("the rates are for more than 2^32 milliseconds")?;
    let mut opportunities = Vec::new();
    // Thousandths of a byte: what a rate in bytes a second adds up to in a millisecond.
    let mut credit: u128 = 0;
    for now in 1..=millis {
        let rate = rates[((now - 1) / step) as usize];
        credit += u128::from(rate.bytes_per_sec());
        let mut due = (credit / PER_OPPORTUNITY) as usize;
        credit %= PER_OPPORTUNITY;
        due += usize::from(now == millis && due == 0);
        if opportunities.len().saturating_add(due) > RateTrace::MAX_OPPORTUNITIES {
            let most = RateTrace::MAX_OPPORTUNITIES;
            return Err(format!("the rates give more than {most} opportunities"));
        }
        opportunities.extend(core::iter::repeat_n(now, due));
    }
    RateTrace::from_millis(opportunities)
}

const PER_OPPORTUNITY: u128 = OPPORTUNITY.get() as u128 * 1_000;
/// Of any unit.
const MAX_NUMBER: f64 = 1e15;

#[cfg(test)]
mod tests {
    use super::*;

    const MBIT: Bandwidth = Bandwidth::from_bits_per_sec(1_000_000);

    fn rates(text: &str, column: RateColumn<'_>) -> Result<Vec<u64>, String> {
        let rates = rates_of_csv(text, column, MBIT)?;
        Ok(rates.iter().map(|rate| rate.bits_per_sec()).collect())
    }

    #[test]
    fn a_column_is_found_by_its_name_or_its_place() {
        let text = "time,\"rate\"\n0,1.5\n\n1,0\n";
        assert_eq!(
            rates(text, RateColumn::Named("rate")),
            Ok(vec![1_500_000, 0])
        );
        assert_eq!(rates(text, RateColumn::Number(2)), Ok(vec![1_500_000, 0]));
        assert_eq!(
            rates("1\n2e0\n", RateColumn::Only),
            Ok(vec![1_000_000, 2_000_000])
        );
        assert_eq!(rates("0;3\n", RateColumn::Number(2)), Ok(vec![3_000_000]));
    }

    #[test]
    fn what_is_no_rate_is_refused_by_its_line() {
        for (text, column, says) in [
            ("a,b\n1,2\n", RateColumn::Only, "2 columns (a, b)"),
            (
                "a,b\n1,2\n",
                RateColumn::Number(3),
                "no column 3; there are 2",
            ),
            (
                "a,b\n1,2\n",
                RateColumn::Named("c"),
                "no column `c`; there are a, b",
            ),
            ("a\n1\nx\n", RateColumn::Only, "line 3: expected a rate"),
            ("1\n-1\n", RateColumn::Only, "line 2: expected a rate"),
            ("1\nNaN\n", RateColumn::Only, "line 2: expected a rate"),
            (
                "a,b\n1,2\n3\n",
                RateColumn::Number(2),
                "line 3: expected a rate",
            ),
        ] {
            let error = rates(text, column).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn a_trace_has_the_rate_of_each_step_and_the_length_of_all() {
        let rates = [12, 0, 6].map(|mbit| Bandwidth::from_bits_per_sec(mbit * 1_000_000));
        let trace = trace_of_rates(&rates, Duration::from_secs(1)).unwrap();
        assert_eq!(trace.period(), Duration::from_secs(3));
        let within = |from: u32, to: u32| {
            let all = trace.opportunities().iter();
            all.filter(|millis| (from..=to).contains(*millis)).count() as u64
        };
        let full = |mbit: u64| mbit * 1_000_000 / 8 / OPPORTUNITY.get();
        assert_eq!(within(1, 1_000), full(12));
        assert_eq!(within(1_001, 2_000), 0);
        // What was left of the first second adds up with this one.
        assert!((full(6)..=full(6) + 1).contains(&within(2_001, 3_000)));
    }

    #[test]
    fn a_silent_end_keeps_its_length() {
        let trace = trace_of_rates(&[MBIT, Bandwidth::ZERO], Duration::from_millis(50)).unwrap();
        assert_eq!(trace.opportunities().last(), Some(&100));
    }

    #[test]
    fn rates_that_no_trace_has_are_refused() {
        let fast = Bandwidth::from_bytes_per_sec(u64::MAX);
        for (rates, every, says) in [
            (
                &[MBIT][..],
                Duration::from_micros(1_500),
                "whole milliseconds",
            ),
            (&[MBIT], Duration::ZERO, "whole milliseconds"),
            (&[MBIT; 2], Duration::from_secs(4_000_000), "more than 2^32"),
            (&[fast], Duration::from_secs(1), "more than 33554432"),
            (&[], Duration::from_secs(1), "no opportunity"),
        ] {
            let error = trace_of_rates(rates, every).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
