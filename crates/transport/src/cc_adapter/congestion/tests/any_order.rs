//! Calls in any order, with anything for arguments.

use super::*;
use proptest::prelude::*;

/// Space, largest number back from the next one, lengths of ranges and gaps, CE.
type ForgedAck = (Space, u64, Vec<(u64, u64)>, Option<u64>);

/// A call of the driver or quinn-proto, with anything for arguments.
#[derive(Debug, Clone)]
enum Call {
    Sent {
        space: Space,
        count: u64,
        content: Content,
        is_mtu_probe: bool,
    },
    Received {
        acks: Vec<ForgedAck>,
        discarded: [bool; 3],
        is_ce_valid: bool,
    },
    Timer,
    Announce,
    Mtu(u64),
    AppLimited,
    OpenPath,
    SelectPath(u64),
    SetChoice(&'static str),
    Wait(u64),
}

fn call() -> impl Strategy<Value = Call> {
    let space = || {
        prop_oneof![
            1 => Just(Space::Initial),
            1 => Just(Space::Handshake),
            8 => Just(Space::Data),
        ]
    };
    let content = prop_oneof![
        1 => Just(Content::NotInFlight),
        1 => Just(Content::Padded),
        8 => Just(Content::AckEliciting),
    ];
    let back = || prop_oneof![6 => 0_u64..10, 2 => 0_u64..100, 1 => Just(u64::MAX)];
    let number = || prop_oneof![8 => 0_u64..5, 1 => 0_u64..1 << 60];
    let ack = (
        space(),
        back(),
        prop::collection::vec((number(), number()), 0..5),
        prop::option::of(prop_oneof![0_u64..100, Just(1 << 61)]),
    );
    prop_oneof![
        8 => (space(), 0_u64..20, content, prop::bool::weighted(0.05)).prop_map(
            |(space, count, content, is_mtu_probe)| Call::Sent {
                space, count, content, is_mtu_probe,
            }
        ),
        8 => (
            prop::collection::vec(ack, 0..3),
            prop::array::uniform3(prop::bool::weighted(0.02)),
            any::<bool>(),
        ).prop_map(|(acks, discarded, is_ce_valid)| Call::Received {
            acks, discarded, is_ce_valid,
        }),
        2 => Just(Call::Timer),
        2 => Just(Call::Announce),
        1 => (1_200_u64..65_000).prop_map(Call::Mtu),
        1 => Just(Call::AppLimited),
        1 => Just(Call::OpenPath),
        1 => (0_u64..6).prop_map(Call::SelectPath),
        1 => prop::sample::select(vec!["cubic", "bbr3", "prague"]).prop_map(Call::SetChoice),
        6 => (0_u64..50_000).prop_map(Call::Wait),
    ]
}

/// Ranges from `largest` down, as the tap hands them out: none below zero.
fn ranges_below(largest: u64, sizes: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut ranges = Vec::new();
    let mut end = Some(largest);
    for (length, gap) in sizes {
        let Some(from) = end else { break };
        let smallest = from.saturating_sub(*length);
        ranges.push((smallest, from));
        end = smallest.checked_sub(gap + 2);
    }
    ranges
}

fn make(scene: &mut Scene, now: &mut Timestamp, call: &Call) {
    match call {
        Call::Sent {
            space,
            count,
            content,
            is_mtu_probe,
        } => scene.send_as(*now, *space, *count, *content, *is_mtu_probe),
        Call::Received {
            acks,
            discarded,
            is_ce_valid,
        } => {
            if *is_ce_valid {
                scene.congestion.on_ce_valid();
            }
            let mut received = Received {
                discarded: *discarded,
                ..Received::default()
            };
            for (space, back, sizes, ce) in acks {
                // What was never sent must do no harm here, either.
                let next = scene.next[*space as usize];
                let largest = next.wrapping_sub(1 + (*back).min(next)) % (1 << 62);
                let ranges = ranges_below(largest, sizes);
                received.acks.push(Ack {
                    space: *space,
                    largest,
                    delay: Duration::from_micros(*back % 25_000),
                    ecn: ce.map(|ce| EcnCounts {
                        ect0: 0,
                        ect1: 0,
                        ce,
                    }),
                    ranges: ranges.len(),
                });
                received.ranges.extend(ranges);
            }
            scene.receive(*now, &received);
        }
        Call::Timer => scene.settle(*now),
        Call::Announce => drop(scene.congestion.announce_losses(*now, SMOOTHED)),
        Call::Mtu(mtu) => scene.congestion.on_mtu(Bytes::new(*mtu)),
        Call::AppLimited => scene.congestion.on_app_limited(),
        Call::OpenPath => drop(scene.congestion.open_path(*now, MSS)),
        Call::SelectPath(id) => scene.congestion.select_path(*id),
        Call::SetChoice(name) => drop(scene.congestion.set_choice(*now, &choose(name))),
        Call::Wait(micros) => *now += Duration::from_micros(*micros),
    }
    scene.check();
}

proptest! {
    #[test]
    fn no_order_of_calls_breaks_it(
        name in prop::sample::select(vec!["new_reno", "cubic", "bbr3"]),
        calls in prop::collection::vec(call(), 0..200),
    ) {
        let mut scene = Scene::new(name);
        let mut now = at(0);
        for call in &calls {
            make(&mut scene, &mut now, call);
            prop_assert!(!scene.congestion.control().cwnd.is_zero());
        }
        // Nothing that was overtaken stays in flight for ever.
        now += Duration::from_secs(100);
        scene.settle(now);
        prop_assert_eq!(scene.congestion.loss_time(), None);
    }
}
