use super::*;
use units::Bytes;

const MS: Duration = Duration::from_millis(1);
/// At a rate at which a frame takes next to no time.
const FAST: Bandwidth = Bandwidth::from_bits_per_sec(1_000_000_000);

fn parameters() -> Parameters {
    Parameters::new(100 * MS, FAST)
}

/// A queue whose packets are judged at these milliseconds, each after `sojourn`.
struct Bench {
    cobalt: Cobalt,
    rng: Rng,
}

impl Bench {
    fn new() -> Self {
        Self {
            cobalt: Cobalt::new(),
            rng: Rng::new(1),
        }
    }

    fn judge(&mut self, at: u64, sojourn: Duration, ecn: Ecn) -> Verdict {
        let now = Timestamp::from_millis(at);
        let Self { cobalt, rng } = self;
        cobalt.judge(now, &parameters(), sojourn, ecn, rng)
    }

    /// When packets are marked.
    fn marked(&mut self, sojourn: Duration, times: impl Iterator<Item = u64>) -> Vec<u64> {
        times
            .filter(|at| self.judge(*at, sojourn, Ecn::Ect0).mark)
            .collect()
    }
}

#[test]
fn times_follow_from_the_rtt_and_from_slow_links() {
    let times = |rtt, rate: &str| {
        let Parameters {
            target,
            interval,
            mtu_time,
        } = Parameters::new(rtt, rate.parse().unwrap());
        [target, interval, mtu_time].map(|time| time.as_micros())
    };
    assert_eq!(times(100 * MS, "1gbit"), [5_000, 100_000, 12]);
    assert_eq!(times(30 * MS, "100mbit"), [1_500, 30_000, 121]);
    // A frame takes 12.1 ms; the target is one and a half, and the interval grows with it.
    assert_eq!(times(100 * MS, "1mbit"), [18_168, 113_168, 12_112]);
    assert_eq!(times(MS, "1mbit"), [18_168, 36_336, 12_112]);
    let slowest = Parameters::new(100 * MS, Bandwidth::ZERO);
    assert_eq!(slowest.mtu_time, Bytes::new(1_514) / MIN_RATE);
}

#[test]
fn signals_come_an_interval_after_the_target_is_exceeded_and_then_ever_faster() {
    let marked = Bench::new().marked(20 * MS, (0..500).step_by(10));
    // 100, 170.7, 228.4, 278.4, 323.2, 364.0, 401.8, 437.1, 470.5 ms.
    assert_eq!(marked, [100, 180, 230, 280, 330, 370, 410, 440, 480]);
}

#[test]
fn at_the_target_nothing_is_signalled() {
    assert_eq!(Bench::new().marked(5 * MS, 0..2_000), [0_u64; 0]);
}

#[test]
fn four_frames_are_no_standing_queue_on_a_slow_link() {
    // At 1 Mbit/s the target is 18.2 ms, and four frames take 48.4 ms.
    let slow = Parameters::new(100 * MS, Bandwidth::from_bits_per_sec(1_000_000));
    for (sojourn, is_marked) in [(48 * MS, false), (49 * MS, true)] {
        let (mut cobalt, mut rng) = (Cobalt::new(), Rng::new(1));
        let mut judge = |at: u64| {
            let now = Timestamp::from_millis(at);
            cobalt.judge(now, &slow, sojourn, Ecn::Ect0, &mut rng)
        };
        assert_eq!((0..1_000).any(|at| judge(at).mark), is_marked);
    }
}

#[test]
fn what_is_not_ecn_capable_is_dropped_instead() {
    let mut bench = Bench::new();
    bench.judge(0, 20 * MS, Ecn::NotEct);
    let dropped = bench.judge(100, 20 * MS, Ecn::NotEct);
    assert_eq!(
        dropped,
        Verdict {
            drop: true,
            mark: false
        }
    );
}

#[test]
fn a_count_is_forgotten_step_by_step() {
    let mut bench = Bench::new();
    bench.marked(20 * MS, (0..=280).step_by(10));
    assert_eq!(bench.cobalt.count, 5);
    // The next signal would be at 323.2 ms, the one before that is forgotten 50 ms later.
    for (at, count) in [(320, 5), (330, 4), (370, 4), (380, 3), (430, 3), (440, 2)] {
        bench.judge(at, MS, Ecn::Ect0);
        assert_eq!(bench.cobalt.count, count, "{at}");
    }
    // Above the target again, it goes on from there: 100 ms ÷ √2 later.
    let marked = bench.marked(20 * MS, (450..600).step_by(10));
    assert_eq!(marked, [530, 580]);
    // All that has not been forgotten in time is when the next packet comes.
    bench.judge(5_000, MS, Ecn::Ect0);
    assert_eq!(bench.cobalt.count, 0);
}

#[test]
fn time_in_which_nothing_was_served_is_not_made_up_for() {
    let mut bench = Bench::new();
    bench.marked(20 * MS, [0, 100].into_iter());
    assert_eq!(
        bench.marked(20 * MS, [1_000, 1_001].into_iter()),
        [1_000, 1_001]
    );
    // The schedule goes on from 1 s: 50 ms and 44.7 ms.
    let marked = bench.marked(20 * MS, 1_002..1_100);
    assert_eq!(marked, [1_050, 1_095]);
}

#[test]
fn blue_rises_at_most_once_in_a_target_and_falls_when_empty() {
    let mut cobalt = Cobalt::new();
    let mut at = |millis: u64, full: bool| {
        let now = Timestamp::from_millis(millis);
        if full {
            cobalt.note_full(now, &parameters());
        } else {
            cobalt.note_empty(now, &parameters());
        }
        cobalt.drop_probability
    };
    let step = INCREMENT;
    assert_eq!(
        [at(0, true), at(5, true), at(6, true)],
        [step, step, 2 * step]
    );
    let less = 2 * step - DECREMENT;
    assert_eq!([at(11, false), at(12, false)], [2 * step, less]);
    for time in 3..600 {
        at(6 * time, true);
    }
    assert_eq!(at(6_000, true), u32::MAX);
}

#[test]
fn blue_drops_whatever_it_is_with_its_probability() {
    let mut bench = Bench::new();
    bench.cobalt.drop_probability = 16 * INCREMENT;
    let dropped = (0..10_000).filter(|at| bench.judge(*at, MS, Ecn::Ect0).drop);
    let dropped = dropped.count() as u64;
    // Five standard deviations of a binomial with n = 10^4, p = 1/16.
    assert!(dropped.abs_diff(625) < 121, "{dropped}");
}

#[test]
fn it_is_at_rest_when_count_probability_and_an_interval_are_over() {
    let mut bench = Bench::new();
    assert!(bench.cobalt.is_at_rest(Timestamp::ZERO));
    bench.judge(0, MS, Ecn::Ect0);
    assert!(!bench.cobalt.is_at_rest(Timestamp::from_millis(99)));
    assert!(bench.cobalt.is_at_rest(Timestamp::from_millis(100)));
    bench
        .cobalt
        .note_full(Timestamp::from_millis(200), &parameters());
    let mut at = 200;
    while !bench.cobalt.is_at_rest(Timestamp::from_millis(at)) {
        at += 6;
        bench
            .cobalt
            .note_empty(Timestamp::from_millis(at), &parameters());
    }
    // Sixteen steps down, more than a target apart.
    assert_eq!(at, 302);
}
