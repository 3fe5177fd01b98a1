//! What the times of requests come to.

use bench_kit::counters::Answer;
use bench_kit::plan::{Plan, Requests};
use bench_report::distribution::Distribution;
use bench_report::result::iperf::RequestRow;
use bench_report::result::{Finite, ForeignProbes, RequestTimes, RunRequests};
use std::time::Duration;

/// New connections that were made while the run went on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Probes {
    /// From the first packet to the end of the handshake.
    pub(crate) handshakes: Vec<Duration>,
    /// From the first request on such a connection to its answer.
    pub(crate) requests: Vec<Duration>,
    /// Those that came to nothing.
    pub(crate) failed: u32,
    /// Why the first of them did.
    pub(crate) failure: Option<String>,
}

/// The answers of one interval, if there were any.
pub(super) fn row(answers: &[Answer]) -> Option<RequestRow> {
    let mut times: Vec<Duration> = answers.iter().map(|answer| answer.took).collect();
    times.sort_unstable();
    let (first, last) = (times.first()?, times.last()?);
    Some(RequestRow {
        answered: times.len() as u64,
        min_ms: Finite::millis(*first),
        median_ms: Finite::millis(quantile(&times, 0.50)),
        max_ms: Finite::millis(*last),
    })
}

/// All of a run, if its plan has requests; those of the warm-up are left out.
pub(super) fn sum(plan: &Plan, answers: &[Answer], probes: Option<&Probes>) -> Option<RunRequests> {
    let Requests {
        interval,
        under_load,
    } = plan.extras.requests?;
    let measured = answers.iter().filter(|answer| answer.at >= plan.omit);
    let own: Vec<Duration> = measured.map(|answer| answer.took).collect();
    let no_probes = Probes::default();
    let foreign = probes.map(|probes| ForeignProbes {
        failed: probes.failed,
        failure: probes.failure.clone(),
        handshake_ms: times(&probes.handshakes),
        request_ms: times(&probes.requests),
    });
    Some(RunRequests {
        under_load,
        interval_ms: Finite::millis(interval),
        rtt_ms: times(&own),
        rtt_distribution: distribution(&own).shares(),
        responsiveness_rpm: responsiveness(&own, probes.unwrap_or(&no_probes)),
        foreign,
    })
}

/// Round trips per minute after draft-ietf-ippm-responsiveness:
///
/// ```text
/// 60 000 ms ÷ ( ¼ (TM(handshake) + TM(first request)) + ½ TM(request beside the load) )
/// ```
/// TM is the mean of all but the slowest 5 %. The draft has a third each for TCP's handshake, TLS's
/// and the first request in the half that new connections have; QUIC has one handshake, so that
/// here both have half of it. Without new connections the requests beside the load are all there
/// is.
fn responsiveness(own: &[Duration], probes: &Probes) -> Option<Finite> {
    let own = trimmed_mean(own)?;
    let foreign = trimmed_mean(&probes.handshakes).zip(trimmed_mean(&probes.requests));
    let mean = foreign.map_or(own, |(handshake, request)| {
        (handshake + request) / 4.0 + own / 2.0
    });
    Finite::new(60.0 / mean)
}

/// In seconds: the mean of those up to the 95th percentile.
fn trimmed_mean(times: &[Duration]) -> Option<f64> {
    let mut times = times.to_vec();
    times.sort_unstable();
    let kept = &times[..(times.len() * 95).div_ceil(100)];
    let sum: f64 = kept.iter().map(Duration::as_secs_f64).sum();
    (!kept.is_empty()).then(|| sum / kept.len() as f64)
}

fn times(all: &[Duration]) -> RequestTimes {
    let mut sorted = all.to_vec();
    sorted.sort_unstable();
    let millis = |time: Duration| (!sorted.is_empty()).then(|| Finite::millis(time));
    let mean = trimmed_mean(all).and_then(|seconds| Finite::new(seconds * 1_000.0));
    RequestTimes {
        count: sorted.len() as u64,
        min: millis(quantile(&sorted, 0.0)),
        p50: millis(quantile(&sorted, 0.50)),
        p95: millis(quantile(&sorted, 0.95)),
        p99: millis(quantile(&sorted, 0.99)),
        max: millis(quantile(&sorted, 1.0)),
        trimmed_mean: mean,
    }
}

/// The smallest of `sorted` that at least this share is not above; zero of none.
fn quantile(sorted: &[Duration], share: f64) -> Duration {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    let index = rank.saturating_sub(1);
    sorted.get(index).copied().unwrap_or_default()
}

fn distribution(times: &[Duration]) -> Distribution {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let counts = sorted.into_iter().map(|time| (time, 1));
    Distribution::new(counts, times.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_kit::plan::{Direction, Extras, Limit};

    fn millis(times: impl IntoIterator<Item = u64>) -> Vec<Duration> {
        times.into_iter().map(Duration::from_millis).collect()
    }

    #[test]
    fn the_slowest_twentieth_does_not_count_towards_the_mean() {
        let mut all = millis([10; 95]);
        all.extend(millis([9_999; 5]));
        let mean = trimmed_mean(&all).unwrap();
        assert!((mean - 0.010).abs() < 1e-12, "{mean}");
        assert_eq!(trimmed_mean(&millis([7])), Some(0.007));
        assert_eq!(trimmed_mean(&[]), None);
    }

    #[test]
    fn responsiveness_weighs_new_connections_like_the_loaded_one() {
        let own = millis([100; 20]);
        let rpm = |probes: &Probes| responsiveness(&own, probes).unwrap().get();
        assert!((rpm(&Probes::default()) - 600.0).abs() < 1e-9);
        let probes = Probes {
            handshakes: millis([20; 5]),
            requests: millis([60; 5]),
            ..Probes::default()
        };
        // (20 + 60) / 4 + 100 / 2 = 70 ms.
        assert!((rpm(&probes) - 60_000.0 / 70.0).abs() < 1e-9);
        assert_eq!(responsiveness(&[], &probes), None);
    }

    #[test]
    fn answers_of_the_warm_up_do_not_count() {
        let plan = Plan {
            direction: Direction::Forward,
            limit: Limit::Bytes(1),
            omit: Duration::from_secs(1),
            streams: 1,
            length: 1,
            rate: None,
            client_congestion: "cubic".to_owned(),
            server_congestion: "cubic".to_owned(),
            window: 1,
            step: Duration::from_secs(1),
            extras: Extras {
                requests: Some(Requests {
                    interval: Duration::from_secs(1),
                    under_load: false,
                }),
                ..Extras::default()
            },
        };
        let answers = [(999, 30), (1_000, 10), (2_000, 20)].map(|(at, took)| Answer {
            at: Duration::from_millis(at),
            took: Duration::from_millis(took),
        });
        let sum = sum(&plan, &answers, None).unwrap();
        assert_eq!(sum.foreign, None);
        assert_eq!(sum.rtt_ms.count, 2);
        assert_eq!(sum.rtt_ms.max.unwrap().get(), 20.0);
    }

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let times = times(&millis(1..=100));
        let quantiles = [times.min, times.p50, times.p95, times.p99, times.max];
        assert_eq!(
            quantiles.map(|time| time.unwrap().get()),
            [1.0, 50.0, 95.0, 99.0, 100.0]
        );
        assert_eq!(super::times(&[]).p50, None);
        let few = super::times(&millis([1, 2, 3]));
        assert_eq!(few.p50.unwrap().get(), 2.0);
        assert_eq!(few.p95.unwrap().get(), 3.0);
    }
}
