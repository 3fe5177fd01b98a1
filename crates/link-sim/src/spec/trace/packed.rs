//! A rate trace with a character for each millisecond.
//!
//! Behind the line `counts` each character of a line is time: `0` to `9` and `a` to `z` are one
//! millisecond with 0 to 35 opportunities, `(N)` is one with N, `A` to `Z` are 2 to 27
//! milliseconds without any. A line that ends in `*N` stands N times. The first character is
//! millisecond 0, and the last one has an opportunity.

use super::text::{content, shorten};
use core::fmt;

pub(super) const HEADING: &str = "counts";

/// The millisecond of each opportunity.
///
/// # Errors
/// Names the line.
pub(super) fn read(text: &str) -> Result<Vec<u32>, String> {
    let mut opportunities = Vec::new();
    let mut millis: u64 = 0;
    for (number, line) in content(text).skip(1) {
        let at_line = |problem: String| format!("line {number} of the trace: {problem}");
        let (counts, times) = repeated(line).map_err(at_line)?;
        let runs = runs(counts).map_err(at_line)?;
        if runs.len() as u64 * u64::from(times) > MAX_OPPORTUNITIES as u64 {
            return Err(at_line(format!(
                "stands for more than {MAX_OPPORTUNITIES} characters"
            )));
        }
        for _ in 0..times {
            for run in &runs {
                append(*run, &mut millis, &mut opportunities).map_err(at_line)?;
            }
        }
    }
    match opportunities.last() {
        Some(last) if u64::from(*last) + 1 == millis => Ok(opportunities),
        _ => Err("the last millisecond of the trace needs an opportunity".to_owned()),
    }
}

/// A line without its `*N`, and how often it stands there.
fn repeated(line: &str) -> Result<(&str, u32), String> {
    let Some((counts, times)) = line.split_once('*') else {
        return Ok((line, 1));
    };
    let times = times.parse().ok().filter(|times| *times > 0);
    let times = times.ok_or("expected a number from 1 after `*` at its end")?;
    Ok((counts.trim_end(), times))
}

/// Some milliseconds with as many opportunities each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    millis: u32,
    opportunities: u32,
}

fn runs(counts: &str) -> Result<Vec<Run>, String> {
    let mut runs = Vec::new();
    let mut rest = counts.chars();
    while let Some(first) = rest.next() {
        let run = |millis, opportunities| Run {
            millis,
            opportunities,
        };
        runs.push(match first {
            '0'..='9' | 'a'..='z' => run(1, first.to_digit(36).expect("it is a digit of 36")),
            'A'..='Z' => run(first as u32 - 'A' as u32 + SHORTEST_PAUSE, 0),
            '(' => {
                let text = rest.as_str();
                let parsed = text
                    .split_once(')')
                    .and_then(|(number, behind)| Some((number.parse().ok()?, behind)));
                let (number, behind) = parsed.ok_or_else(|| {
                    let text = shorten(text);
                    format!("`({text}` does not begin with a number such as `(36)`")
                })?;
                rest = behind.chars();
                run(1, number)
            }
            other => {
                let other = other.escape_debug();
                return Err(format!(
                    "expected 0 to 9, a to z, A to Z or (N), not `{other}`"
                ));
            }
        });
    }
    Ok(runs)
}

fn append(run: Run, millis: &mut u64, opportunities: &mut Vec<u32>) -> Result<(), String> {
    let count = run.opportunities as usize;
    if opportunities.len() + count > MAX_OPPORTUNITIES {
        return Err(format!("more than {MAX_OPPORTUNITIES} opportunities"));
    }
    let now = u32::try_from(*millis).ok().filter(|now| *now <= MAX_MILLIS);
    let now = now.ok_or("later than 24 hours, of which a trace has no more")?;
    opportunities.extend(core::iter::repeat_n(now, count));
    *millis += u64::from(run.millis);
    Ok(())
}

/// The trace of these milliseconds, which ascend.
pub(super) fn write(opportunities: &[u32], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{HEADING}")?;
    let runs = runs_of(opportunities);
    if let Some((period, times)) = repetition(&runs) {
        write_runs(&runs[..period], f)?;
        writeln!(f, "*{times}")?;
        return write_lines(&runs[period * times..], f);
    }
    write_lines(&runs, f)
}

fn write_lines(runs: &[Run], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut characters = characters(runs).peekable();
    while characters.peek().is_some() {
        write_characters(characters.by_ref().take(LINE), f)?;
        writeln!(f)?;
    }
    Ok(())
}

fn write_runs(runs: &[Run], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write_characters(characters(runs), f)
}

fn write_characters(runs: impl Iterator<Item = Run>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for run in runs {
        match char::from_digit(run.opportunities, 36) {
            _ if run.millis > 1 => {
                let letter = b'A' + (run.millis - SHORTEST_PAUSE) as u8;
                write!(f, "{}", char::from(letter))?;
            }
            Some(digit) => write!(f, "{digit}")?,
            None => write!(f, "({})", run.opportunities)?,
        }
    }
    Ok(())
}

/// A run for each character: pauses in pieces that have one.
fn characters(runs: &[Run]) -> impl Iterator<Item = Run> {
    runs.iter().flat_map(|run| {
        let pieces = run.millis.div_ceil(LONGEST_PAUSE);
        (0..pieces).map(|piece| Run {
            millis: (run.millis - piece * LONGEST_PAUSE).min(LONGEST_PAUSE),
            ..*run
        })
    })
}

/// Each millisecond with opportunities as a run of its own, the time between as another.
fn runs_of(opportunities: &[u32]) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut next = 0;
    for same in opportunities.chunk_by(|one, other| one == other) {
        let run = |millis, opportunities| Run {
            millis,
            opportunities,
        };
        runs.extend((same[0] > next).then(|| run(same[0] - next, 0)));
        runs.push(run(1, same.len() as u32));
        next = same[0].saturating_add(1);
    }
    runs
}

/// How many runs make a sequence that the whole trace repeats, and how often it is there whole.
fn repetition(runs: &[Run]) -> Option<(usize, usize)> {
    let repeats = |period: &usize| runs[*period..] == runs[..runs.len() - period];
    let longest = LONGEST_PERIOD.min(runs.len() / 2);
    let period = (1..=longest).find(repeats)?;
    Some((period, runs.len() / period))
}

/// Half an hour at 220 Mbit/s, and 128 MiB of memory.
pub(super) const MAX_OPPORTUNITIES: usize = 1 << 25;
/// 24 hours, which are 3 MB where hardly anything is sent. A time beyond is taken for a mistake.
pub(super) const MAX_MILLIS: u32 = 24 * 3_600_000;
const SHORTEST_PAUSE: u32 = 2;
const LONGEST_PAUSE: u32 = 27;
/// Characters of a line, most of them a millisecond each.
const LINE: usize = 100;
const LONGEST_PERIOD: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::super::rate::RateTrace;
    use proptest::prelude::*;

    fn trace(text: &str) -> Result<RateTrace, String> {
        RateTrace::parse(text)
    }

    #[test]
    fn a_pause_of_a_day_is_written_and_read() {
        for text in ["1\n1\n86400000", "86399999\n86400000"] {
            let read = trace(text).unwrap();
            assert_eq!(trace(&read.to_string()), Ok(read));
        }
    }

    #[test]
    fn each_character_is_a_millisecond_or_several() {
        let read = trace("# two lines\ncounts\n 102 \nA1Z(36)\n").unwrap();
        let mut expected = vec![0, 2, 2, 5];
        expected.extend([33; 36]);
        assert_eq!(read.opportunities(), expected);
    }

    #[test]
    fn a_line_may_stand_several_times() {
        let read = trace("counts\n01 *3\n1\n").unwrap();
        assert_eq!(read.opportunities(), [1, 3, 5, 6]);
        assert_eq!(trace("1\n3\n5\n6\n"), Ok(read));
    }

    #[test]
    fn what_is_no_trace_is_refused_by_its_line() {
        for (text, says) in [
            ("counts\n", "needs an opportunity"),
            ("counts\n0\n", "needs an opportunity"),
            ("counts\n10\n", "needs an opportunity"),
            ("counts\n1\n", "later than 0 ms"),
            ("1\n1\n3333333331", "24 hours at most, 86400000 ms"),
            ("counts\n1\n\n1_\n", "line 4 of the trace: expected 0 to 9"),
            ("counts\n01*0\n", "a number from 1 after `*`"),
            ("counts\n01*x\n", "a number from 1 after `*`"),
            ("counts\n0(1\n", "`(1` does not begin with a number"),
            ("counts\n0(x)\n", "`(x)` does not begin with a number"),
            ("counts\n1(33554432)\n", "more than 33554432 opportunities"),
            ("counts\n01*4294967295\n", "more than 33554432 characters"),
            (
                &format!("counts\n{}1\n", "Z*33554432\n".repeat(5)),
                "later than 24 hours",
            ),
        ] {
            let error = trace(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn what_repeats_is_written_once() {
        let millis = (0..3_002).filter(|millis| millis % 3 > 0);
        let trace = RateTrace::from_millis(millis.collect()).unwrap();
        assert_eq!(trace.to_string(), "counts\n011*1000\n01\n");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(gaps in proptest::collection::vec(0..90_u32, 1..300)) {
            let mut now = 1;
            let millis = gaps.iter().map(|gap| {
                now += gap / 3;
                now
            });
            let trace = RateTrace::from_millis(millis.collect()).unwrap();
            prop_assert_eq!(RateTrace::parse(&trace.to_string()), Ok(trace));
        }

        #[test]
        fn any_text_is_a_trace_or_a_refusal(text in "[0-9a-zA-Z()*# \n]{0,60}") {
            let _ = RateTrace::parse(&format!("counts\n{text}"));
        }
    }
}
