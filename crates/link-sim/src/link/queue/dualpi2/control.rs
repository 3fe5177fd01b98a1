use crate::spec;
use crate::spec::clauses::aqm::dualpi2::OnOverload;
use core::time::Duration;
use units::{Timestamp, duration};

/// What moves the base probability (RFC 9332, appendix A.1, `dualpi2_update`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Control {
    parameters: spec::aqm::DualPi2,
    /// Of [`ONE`].
    pub(super) probability: u64,
    /// How long the older head had waited at the last update.
    old_delay: Duration,
}

impl Control {
    pub(super) fn new(parameters: &spec::aqm::DualPi2) -> Self {
        Self {
            parameters: *parameters,
            probability: 0,
            old_delay: Duration::ZERO,
        }
    }

    /// The probability of the low-latency queue; more than [`ONE`] is overload.
    pub(super) fn coupled(&self) -> u64 {
        self.probability * u64::from(self.parameters.coupling_factor)
    }

    /// Makes `ticks` updates, the first of them at `first`, while the older of both heads is one
    /// that came at `oldest`.
    ///
    /// From one update to the next that head waits longer by `tupdate`, so that what the updates
    /// add is an arithmetic series: negative first, if at all, and positive then. Bounding the sum
    /// of each part is therefore the same as bounding every step.
    pub(super) fn update(&mut self, ticks: u64, first: Timestamp, oldest: Option<Timestamp>) {
        let delay = oldest.map_or(Duration::ZERO, |oldest| first.since(oldest));
        self.add(self.change(delay, self.old_delay));
        self.old_delay = delay;
        let rest = i128::from(ticks) - 1;
        if rest <= 0 {
            return;
        }
        let growth = oldest.map_or(Duration::ZERO, |_| self.parameters.tupdate);
        let change = self.change(delay + growth, delay);
        let slope = i128::from(self.parameters.alpha.millionths()) * nanos(growth);
        let nth = |n: i128| change + slope * (n - 1);
        let falling = match (change > 0, slope) {
            (true, _) => 0,
            (false, 0) => rest,
            (false, slope) => rest.min(-change / slope + 1),
        };
        self.add(series(falling, change, nth(falling)));
        self.add(series(rest - falling, nth(falling + 1), nth(rest)));
        let more = duration::nanos(growth).saturating_mul(ticks - 1);
        self.old_delay = delay + Duration::from_nanos(more);
    }

    /// What an update adds, in 10^−15: millionths per second times nanoseconds.
    fn change(&self, delay: Duration, old_delay: Duration) -> i128 {
        let (alpha, beta) = (self.parameters.alpha, self.parameters.beta);
        let integral = nanos(delay) - nanos(self.parameters.target);
        let proportional = nanos(delay) - nanos(old_delay);
        i128::from(alpha.millionths()) * integral + i128::from(beta.millionths()) * proportional
    }

    fn add(&mut self, change: i128) {
        let max = match self.parameters.on_overload {
            OnOverload::Drop => ONE,
            OnOverload::Overflow => ONE / u64::from(self.parameters.coupling_factor),
        };
        let moved = i128::from(self.probability).saturating_add(change);
        self.probability = moved.clamp(0, i128::from(max)) as u64;
    }
}

/// The sum of `count` numbers of which each is as much more than the one before.
fn series(count: i128, first: i128, last: i128) -> i128 {
    count.saturating_mul(first + last) / 2
}

fn nanos(time: Duration) -> i128 {
    i128::from(duration::nanos(time))
}

/// A probability of one: no step of the controller is rounded.
pub(super) const ONE: u64 = 1_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::clauses::aqm::DualPi2;
    use proptest::prelude::*;
    use units::Gain;

    const MS: Duration = Duration::from_millis(1);

    /// After updates at 16, 32 … ms while a head waits that came at these milliseconds.
    fn updated(control: &mut Control, heads: &[Option<u64>]) -> u64 {
        for (n, head) in (1..).zip(heads) {
            let now = Timestamp::from_millis(16 * n);
            control.update(1, now, head.map(Timestamp::from_millis));
        }
        control.probability
    }

    #[test]
    fn the_probability_takes_the_steps_that_the_rfc_computes() {
        let mut control = Control::new(&DualPi2::DEFAULT);
        // Delays of 10, 22 and 8 ms: 0.16 × (delay − 15 ms) + 3.2 × (delay − last delay).
        let steps = [-800 + 32_000, 1_120 + 38_400, -1_120 - 44_800];
        let sum: i64 = steps.iter().sum();
        assert_eq!(
            updated(&mut control, &[Some(6), Some(10), Some(40)]),
            sum as u64 * 1_000_000_000
        );
    }

    #[test]
    fn an_idle_queue_takes_the_probability_down_by_the_integral_alone() {
        let mut control = Control::new(&DualPi2::DEFAULT);
        control.probability = ONE / 10;
        control.update(5, Timestamp::from_millis(16), None);
        assert_eq!(control.probability, ONE / 10 - 5 * 2_400_000_000_000);
        control.update(u64::MAX, Timestamp::from_millis(96), None);
        assert_eq!(control.probability, 0);
    }

    #[test]
    fn overflow_stops_where_every_low_latency_packet_is_marked() {
        let parameters = DualPi2 {
            on_overload: OnOverload::Overflow,
            ..DualPi2::DEFAULT
        };
        for (parameters, max) in [(parameters, ONE / 2), (DualPi2::DEFAULT, ONE)] {
            let mut control = Control::new(&parameters);
            control.update(10_000, Timestamp::from_millis(16), Some(Timestamp::ZERO));
            assert_eq!(control.probability, max);
        }
    }

    proptest! {
        #[test]
        fn many_updates_at_once_are_as_many_single_ones(
            probability in prop_oneof![0..=ONE, 0..=ONE / 1_000],
            target in 1..1_000_u32,
            tupdate in 1..50_u32,
            factors in (1..5_000_000_u64, prop_oneof![1..100_000_u64, 1..5_000_000_u64]),
            ticks in prop_oneof![1..5_u64, 1..1_000_u64],
            head in proptest::option::of(0..200_u64),
            old_delay in 0..500_u32,
        ) {
            let [alpha, beta] = [factors.0, factors.1].map(Gain::from_millionths);
            let (target, tupdate) = (target * MS, tupdate * MS);
            let parameters = DualPi2 { target, tupdate, alpha, beta, ..DualPi2::DEFAULT };
            let mut one_by_one = Control::new(&parameters);
            (one_by_one.probability, one_by_one.old_delay) = (probability, old_delay * MS);
            let mut at_once = one_by_one.clone();
            let (first, head) = (Timestamp::from_millis(200), head.map(Timestamp::from_millis));
            for n in 0..ticks as u32 {
                one_by_one.update(1, first + tupdate * n, head);
            }
            at_once.update(ticks, first, head);
            prop_assert_eq!(at_once, one_by_one);
        }

        #[test]
        fn no_update_overflows(
            probability in 0..=ONE,
            times in [1..=u64::MAX, 1..=u64::MAX, 1..=u64::MAX, 1..=u64::MAX],
            factors in [1..=8_388_607_000_000_u64, 1..=8_388_607_000_000_u64],
            has_head in any::<bool>(),
        ) {
            let [target, tupdate, first, head] = times;
            let [alpha, beta] = factors.map(Gain::from_millionths);
            let [target, tupdate] = [target, tupdate].map(Duration::from_nanos);
            let parameters = DualPi2 { target, tupdate, alpha, beta, ..DualPi2::DEFAULT };
            let mut control = Control::new(&parameters);
            control.probability = probability;
            let head = has_head.then_some(Timestamp::from_nanos(head));
            let ticks = u64::MAX / duration::nanos(tupdate);
            control.update(ticks, Timestamp::from_nanos(first), head);
            prop_assert!(control.probability <= ONE);
        }
    }
}
