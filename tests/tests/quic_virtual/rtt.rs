//! Round-trip times: each sample that congestion control gets is the one that quinn-proto takes,
//! which makes its loss detection and ours agree on what a round trip is.

use crate::{config, connect};
use cc_core::{Event, Observer};
use e2e::seed;
use paceline::testing::{Load, Pair, PairConfig, Side};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use units::Rng;

/// Samples in the order of their ACKs.
#[derive(Debug, Clone, Default)]
struct Samples(Arc<Mutex<Vec<Duration>>>);

impl Observer for Samples {
    fn on_event(&mut self, event: &Event) {
        if let Event::Sampled { sample, .. } = event {
            self.0.lock().expect("one thread").extend(sample.rtt);
        }
    }
}

/// quinn-proto's average, computed from our samples (RFC 9002 §5.3).
struct Average {
    side: Side,
    samples: Samples,
    /// None before the first sample.
    smoothed: Option<Duration>,
    count: usize,
}

impl Average {
    /// Of what `side` samples from now on.
    fn new(pair: &mut Pair, side: Side) -> Self {
        let samples = Samples::default();
        pair.set_observer(side, Box::new(samples.clone()));
        Self {
            side,
            samples,
            smoothed: pair.stats(side).srtt.map(|_| pair.stats(side).path.rtt),
            count: 0,
        }
    }

    fn take_samples(&mut self) {
        for sample in self.samples.0.lock().expect("one thread").drain(..) {
            let smoothed = self.smoothed.map(|smoothed| (7 * smoothed + sample) / 8);
            self.smoothed = smoothed.or(Some(sample));
            self.count += 1;
        }
    }
}

/// One that delays, and may lose, duplicate and reorder.
///
/// It is too slow for quinn-proto to make anything up: it takes a packet that 128 others have
/// passed for a duplicate and reads no ACK in it, and it forgets when ACKs left if a thousand
/// follow one another.
fn link(rng: &mut Rng) -> String {
    let mut text = format!("delay {}ms", 1 + rng.below(80));
    if rng.below(2) == 0 {
        text += &format!(" {}ms", 1 + rng.below(15));
    }
    text += &format!(" rate {}kbit queue 2bdp", 500 + rng.below(20_000));
    if rng.below(2) == 0 {
        text += &format!(" loss {}%", 1 + rng.below(10));
    }
    if rng.below(3) == 0 {
        text += &format!(" duplicate {}%", 1 + rng.below(20));
    }
    text
}

/// All at once, or little by little, when the peer delays its ACKs.
fn load(rng: &mut Rng) -> Load {
    match rng.below(3) {
        0 => Load::Endless,
        _ => Load::Every {
            bytes: 1 + rng.below(30_000),
            interval: Duration::from_millis(1 + rng.below(200)),
        },
    }
}

/// Of both ends, whose packets are data, ACKs of the other's, or both.
#[test]
fn our_samples_give_the_average_that_quinn_proto_has() {
    let mut samples = 0;
    for seed in 0..40 {
        let seed = seed::choose(seed, "round-trip times");
        let mut rng = Rng::new(seed);
        let (there, back) = (link(&mut rng), link(&mut rng));
        let (upload, download) = (load(&mut rng), load(&mut rng));
        let download = (rng.below(2) == 0).then_some(download);
        let case = format!("seed {seed}: {there} / {back}, {upload:?}, {download:?}");
        let mut pair = connect(&PairConfig {
            seed,
            is_unencrypted: true,
            ..config(&there, &back, "cubic")
        });
        let mut averages = [Side::Client, Side::Server].map(|side| Average::new(&mut pair, side));
        pair.send(Side::Client, upload);
        if let Some(download) = download {
            pair.send(Side::Server, download);
        }
        for _ in 0..6_000 {
            pair.run_for(Duration::from_millis(1));
            for average in &mut averages {
                average.take_samples();
                let (side, now) = (average.side, pair.now());
                let Some(smoothed) = average.smoothed else {
                    continue;
                };
                let rtt = pair.stats(side).path.rtt;
                assert_eq!(smoothed, rtt, "{side:?} at {now}, {case}");
            }
        }
        samples += averages.iter().map(|average| average.count).sum::<usize>();
    }
    assert!(samples > 10_000, "{samples}");
}
