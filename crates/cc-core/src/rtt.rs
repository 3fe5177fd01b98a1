//! Round-trip time estimates (RFC 9002 §5).

use core::time::Duration;

/// Smoothed, newest and least round-trip time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rtt {
    estimates: Option<Estimates>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimates {
    pub(crate) latest: Duration,
    pub(crate) smoothed: Duration,
    pub(crate) deviation: Duration,
    pub(crate) min: Duration,
}

impl Rtt {
    pub(crate) fn get(&self) -> Option<Estimates> {
        self.estimates
    }

    /// Exponentially weighted averages with 1/8 for the mean and 1/4 for the deviation.
    pub(crate) fn on_sample(&mut self, rtt: Duration) {
        self.estimates = Some(match self.estimates {
            None => Estimates {
                latest: rtt,
                smoothed: rtt,
                deviation: rtt / 2,
                min: rtt,
            },
            Some(old) => Estimates {
                latest: rtt,
                smoothed: (old.smoothed * 7 + rtt) / 8,
                deviation: (old.deviation * 3 + old.smoothed.abs_diff(rtt)) / 4,
                min: old.min.min(rtt),
            },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn after(millis: &[u32]) -> Estimates {
        let mut rtt = Rtt::default();
        assert!(rtt.get().is_none());
        millis.iter().for_each(|sample| rtt.on_sample(MS * *sample));
        rtt.get().unwrap()
    }

    #[test]
    fn the_first_sample_is_the_mean_and_half_of_it_the_deviation() {
        let first = after(&[80]);
        assert_eq!((first.smoothed, first.deviation), (MS * 80, MS * 40));
        assert_eq!((first.latest, first.min), (MS * 80, MS * 80));
    }

    #[test]
    fn later_samples_move_the_mean_by_an_eighth_and_the_deviation_by_a_quarter() {
        let second = after(&[80, 160]);
        assert_eq!(second.smoothed, MS * 90);
        // Of the distance from the mean before this sample: (3 · 40 + 80) ÷ 4.
        assert_eq!(second.deviation, MS * 50);
        assert_eq!((second.latest, second.min), (MS * 160, MS * 80));
    }

    #[test]
    fn the_least_is_the_least_of_all() {
        assert_eq!(after(&[80, 20, 90]).min, MS * 20);
    }
}
