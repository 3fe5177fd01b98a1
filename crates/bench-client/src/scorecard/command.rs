use crate::ab::{self, AbVariant};
use crate::matrix::CellPlan;
use crate::shell::quoted;
use std::time::Duration;

/// The `ab` that runs the same test as `cell`: of two variants or more that start at regular
/// times, with as many connections each.
pub(super) fn command(cell: &CellPlan) -> String {
    let mut words = vec!["bench-client ab --virtual --no-report".to_owned()];
    let flags = ["--a", "--b"]
        .into_iter()
        .chain(std::iter::repeat("--also"));
    let controllers = cell.variants.iter().zip(flags);
    words.extend(controllers.map(|(variant, flag)| format!("{flag} {}", quoted(&variant.cc))));
    let [first, second, ..] = cell.variants.as_slice() else {
        unreachable!("a criterion has two variants at least");
    };
    if cell.compete {
        words.push("--compete".to_owned());
    }
    if first.flows != 1 {
        words.push(format!("--flows {}", first.flows));
    }
    if !second.start.is_zero() {
        words.push(format!("--stagger {}", time(second.start)));
    }
    words.extend(cell.variants.iter().enumerate().flat_map(of_one));
    words.push(match first.plan.bytes() {
        Some(bytes) => format!("-n {bytes} -t {}", time(longest(first))),
        None => format!("-t {} -O {}", time(longest(first)), time(first.plan.omit)),
    });
    words.push(format!("--rounds {} --seed {}", cell.rounds, cell.seed()));
    words.push(format!("--link {}", quoted(&cell.links.link.to_string())));
    let return_link = cell.links.return_link.to_string();
    if !return_link.is_empty() {
        words.push(format!("--return-link {}", quoted(&return_link)));
    }
    words.join(" ")
}

/// What is said of the variant at `place` alone.
fn of_one((place, variant): (usize, &AbVariant)) -> Vec<String> {
    let name = ab::name(place);
    let delay = (!variant.extra_delay.is_zero())
        .then(|| format!("--extra-delay {name}={}", time(variant.extra_delay)));
    let rate = variant.plan.rate;
    let rate = rate.map(|rate| format!("--bitrate-of {name}={rate}"));
    let copies =
        (variant.duplicate > 1).then(|| format!("--duplicate {name}={}", variant.duplicate));
    [delay, rate, copies].into_iter().flatten().collect()
}

fn longest(variant: &AbVariant) -> Duration {
    let longest = variant.plan.longest();
    longest.expect("rounds of a matrix have a longest time")
}

fn time(time: Duration) -> String {
    units::duration::display(time).to_string()
}
