use super::*;
use bench_kit::plan::{Extras, Limit};
use bench_kit::sample::{Arrivals, FrameTally, Sample, SenderReport, SenderState};
use bench_report::result::{Counts, LimitedTimes, Quantity};
use bench_report::table::{Columns, end_block};
use bench_report::text::Unit;
use units::Rng;

const STEP: Duration = Duration::from_millis(100);

/// What an honest peer would not say: nothing, everything, and in any order.
struct Liar(Rng);

impl Liar {
    fn time(&mut self) -> Duration {
        const TIMES: [Duration; 5] = [
            Duration::ZERO,
            Duration::from_nanos(1),
            Duration::from_millis(20),
            Duration::from_secs(3_000_000_000),
            Duration::MAX,
        ];
        // Mostly what the check lets pass.
        let known = if self.0.below(20) == 0 { 5 } else { 4 };
        TIMES[self.0.below(known) as usize]
    }

    fn count(&mut self) -> u64 {
        [0, 1, 1_000_000, u64::MAX][self.0.below(4) as usize]
    }

    fn counts(&mut self) -> Vec<u64> {
        (0..self.0.below(4)).map(|_| self.count()).collect()
    }

    fn arrivals(&mut self) -> Vec<Arrivals> {
        let one = |liar: &mut Self| Arrivals {
            packets: liar.count(),
            lost: liar.count(),
            out_of_order: liar.count(),
            jitter: liar.time(),
        };
        (0..self.0.below(4)).map(|_| one(self)).collect()
    }

    fn sample(&mut self) -> Sample {
        Sample {
            at: self.time(),
            length: self.time(),
            omitted: self.0.below(2) == 0,
            sent: self.counts(),
            received: self.counts(),
            datagrams_sent: self.counts(),
            arrivals: self.arrivals(),
            frames_sent: Some(self.count()),
            frames: Some(FrameTally {
                complete: self.count(),
                late: self.count(),
                lost: self.count(),
            }),
            sending: Some(SenderState {
                counts: Counts::of(Quantity::ALL.map(|quantity| (quantity, self.count()))),
                ..SenderState::default()
            }),
        }
    }

    /// Quantiles that rise, which the check asks for, and nothing else that makes sense.
    fn rtt(&mut self) -> RttReport {
        let mut extremes = [self.time(), self.time()];
        let mut quantiles = [self.time(), self.time(), self.time()];
        extremes.sort_unstable();
        quantiles.sort_unstable();
        let ([min, max], [p50, p95, p99]) = (extremes, quantiles);
        RttReport {
            min,
            p50,
            p95,
            p99,
            max,
            mean: self.time(),
            base: self.time(),
            samples: self.count(),
        }
    }

    fn report(&mut self) -> SideReport {
        SideReport {
            measured: self.time(),
            sent: self.counts(),
            received: self.counts(),
            datagrams_sent: self.counts(),
            arrivals: self.arrivals(),
            cpu: self.time(),
            sender: Some(SenderReport {
                packets_sent: self.count(),
                packets_lost: self.count(),
                packets_spuriously_lost: self.count(),
                bytes_lost: self.count(),
                ce_marked: self.count(),
                rtt: Some(self.rtt()),
                limited: LimitedTimes {
                    application: self.time(),
                    congestion_window: self.time(),
                    pacing: self.time(),
                    flow_control: self.time(),
                    host: self.time(),
                },
                ..SenderReport::default()
            }),
            ..SideReport::default()
        }
    }

    /// A side as its messages make it: what the check refuses never gets so far.
    fn side(&mut self) -> Side {
        let mut side = Side::default();
        for _ in 0..self.0.below(4) {
            let sample = self.sample();
            if sample.check().is_ok() {
                side.series.push(sample);
            }
        }
        side.report = Some(self.report()).filter(|report| report.check().is_ok());
        side
    }
}

fn plan(direction: Direction) -> Plan {
    Plan {
        direction,
        limit: Limit::Time(Duration::from_secs(2)),
        omit: Duration::ZERO,
        streams: 2,
        length: 131_072,
        rate: None,
        client_congestion: "cubic".to_owned(),
        server_congestion: "cubic".to_owned(),
        window: 32 << 20,
        step: STEP,
        extras: Extras::default(),
    }
}

fn about() -> About {
    About {
        command: None,
        title: None,
        note: None,
        seed: 1,
        link: String::new(),
        return_link: String::new(),
        connecting_to: iperf::HostPort {
            host: "localhost".to_owned(),
            port: 4433,
        },
        interval: STEP,
    }
}

#[test]
fn whatever_a_server_reports_a_result_comes_of_it() {
    let mut liar = Liar(Rng::new(7));
    let mut reports = 0;
    for round in 0..3_000 {
        let direction = [Direction::Forward, Direction::Reverse, Direction::Both][round % 3];
        let plan = plan(direction);
        let flow = |liar: &mut Liar| Flow {
            server: liar.side(),
            client: liar.side(),
            ..Flow::default()
        };
        let outcome = Outcome {
            flows: vec![flow(&mut liar), flow(&mut liar)],
            ..Outcome::default()
        };
        reports += outcome
            .flows
            .iter()
            .filter(|f| f.server.report.is_some())
            .count();
        let result = outcome.run_result(&plan, &about());
        serde_json::to_string(&result).unwrap();
        assert!(end_block(&result.end, Unit::Adaptive, Columns::Narrow).ends_with('\n'));
    }
    assert!(reports > 2_000, "{reports} got so far");
}

#[test]
fn processor_time_is_that_of_each_thread_once() {
    let side = |seconds, thread| Side {
        report: Some(SideReport {
            cpu: Duration::from_secs(seconds),
            thread,
            ..SideReport::default()
        }),
        ..Side::default()
    };
    let spread = [side(5, Some(0)), side(3, Some(1)), side(6, Some(0))];
    assert_eq!(cpu(&spread.each_ref()).unwrap().get(), 9.0);
    let alone = [side(5, None), side(6, None)];
    assert_eq!(cpu(&alone.each_ref()).unwrap().get(), 6.0);
}
