//! A receiver that lies about its own acknowledgements, or asks for absurd ones of the sender: it
//! gets no more than an honest one, and costs bounded memory.

use crate::adversity::forged::{CID, PING, TAG, frame, read_varint, with_payload};
use crate::adversity::{LINK, Scene, transport};
use e2e::memory::{held, max_held};
use paceline::ConnectionStats;
use paceline::testing::Load;
use std::time::Duration;

/// What a server with this controller has after five seconds in which its client acknowledges with
/// the delays that `lie` makes of the true ones.
fn with_delays(cc: &str, lie: fn(u64, u64) -> u64) -> ConnectionStats {
    let mut config = transport(cc);
    config.mtu_discovery_config(None);
    let mut scene = Scene::readable_with(&config);
    // A queue that a controller of delays leaves nearly empty.
    scene.relink(LINK, DEEP);
    scene.world.skip_verification(scene.ends.client);
    scene.world.send(scene.ends.server, Load::Endless);
    let mut number = 0;
    scene.world.tamper(scene.ends.client, move |datagram| {
        number += 1;
        vec![with_delay(&datagram, |delay| lie(delay, number)).unwrap_or(datagram)]
    });
    scene.world.run_for(Duration::from_secs(5));
    assert_eq!(scene.errors(), [None, None], "{cc}");
    scene.world.stats(scene.ends.server)
}

/// The packet with another delay in the ACK frame that it begins with.
fn with_delay(datagram: &[u8], lie: impl Fn(u64) -> u64) -> Option<Vec<u8>> {
    let is_short = datagram[0] & 0x80 == 0;
    let start = 1 + CID + usize::from(datagram[0] & 3) + 1;
    let frames = datagram.get(start..datagram.len() - TAG)?;
    if !is_short || !matches!(frames.first()?, 0x02 | 0x03) {
        return None;
    }
    let (largest, first) = read_varint(&frames[1..]);
    let (delay, second) = read_varint(&frames[1 + first..]);
    let head = frame(frames[0], &[largest, lie(delay)]);
    Some(with_payload(
        datagram,
        &[&head, &frames[1 + first + second..]].concat(),
    ))
}

#[test]
fn a_receiver_that_lies_about_its_delays_gets_no_more_and_hides_no_queue() {
    const LIES: [fn(u64, u64) -> u64; 2] = [
        |_, _| (1 << 62) - 1,
        |delay, number| if number % 2 == 0 { delay } else { 1 << 61 },
    ];
    for cc in ["bbr3", "copa", "paceline"] {
        let honest = with_delays(cc, |delay, _| delay);
        for (number, lie) in LIES.into_iter().enumerate() {
            let lied = with_delays(cc, lie);
            let what = format!("{cc}, lie {number}: {lied:?} against {honest:?}");
            assert!(lied.min_rtt >= Some(Duration::from_millis(40)), "{what}");
            // A link is shared: nobody may have a longer queue than an honest receiver by lying.
            let most = honest.cwnd.get() * 3 / 2 + 100_000;
            assert!(lied.cwnd.get() < most, "{what}");
            assert!(
                lied.delivered.get() * 10 > honest.delivered.get() * 9,
                "{what}"
            );
        }
    }
}

/// Has a client that reads what a server sends ask in each of its packets for the acknowledgements
/// that `ask` says. Datagrams that the two have sent, and how much more memory was held at most.
fn asking(ask: impl Fn(u64) -> Vec<u8> + 'static) -> ([u64; 2], i64) {
    let mut scene = Scene::readable();
    let ends = scene.ends;
    scene.world.skip_verification(ends.client);
    scene.world.send(ends.server, Load::Endless);
    let mut number = 0;
    scene.world.tamper(ends.client, move |datagram| {
        let start = 1 + CID + usize::from(datagram[0] & 3) + 1;
        if datagram[0] & 0x80 != 0 || datagram.len() < start + TAG {
            return vec![datagram];
        }
        number += 1;
        let frames = &datagram[start..datagram.len() - TAG];
        vec![with_payload(&datagram, &[&ask(number), frames].concat())]
    });
    let before = held();
    let most = max_held(|| scene.world.run_for(Duration::from_secs(10)));
    assert_eq!(scene.errors(), [None, None]);
    let sent = [ends.client, ends.server].map(|end| scene.world.proto_stats(end).udp_tx.datagrams);
    let received = scene.world.received(ends.client).get();
    assert!(received > 55_000_000, "{received} of 62,500,000 bytes");
    (sent, most - before)
}

/// ACK_FREQUENCY (draft-ietf-quic-ack-frequency): sequence number, packets that need no ACK, the
/// longest delay in microseconds, and from how many numbers on a packet counts as reordered.
fn ack_frequency(fields: [u64; 4]) -> Vec<u8> {
    [&[0x40][..], &frame(0xaf, &fields)].concat()
}

#[test]
fn whatever_acknowledgements_are_asked_for_memory_and_answers_are_bounded() {
    const MOST: u64 = (1 << 62) - 1;
    type Ask = fn(u64) -> Vec<u8>;
    let asked: [(&str, Ask); 5] = [
        ("none ever", |n| ack_frequency([n, MOST, MOST, MOST])),
        ("none ever, but of gaps", |n| {
            ack_frequency([n, MOST, MOST, 1])
        }),
        ("one each, at once", |n| ack_frequency([n, 0, 1_000, 1])),
        ("one at once, a hundred times", |_| vec![IMMEDIATE_ACK; 100]),
        ("all and none in turns", |n| match n % 2 {
            0 => ack_frequency([n, 0, 1_000, 0]),
            _ => ack_frequency([n, MOST, MOST, 0]),
        }),
    ];
    let ([_, unasked], _) = asking(|_| vec![PING]);
    for (what, ask) in asked {
        let ([_, server], most) = asking(ask);
        // They go with its data.
        assert!(server < unasked + unasked / 50, "{what}: {server}");
        // What is never acknowledged costs its sender 100 bytes a packet, until such packets that
        // ask for more data fill its congestion window: 28 MB after 1.9 GB of data.
        assert!(most < 16 << 20, "{what}: {most} bytes");
    }
}

const DEEP: &str = "delay 20ms rate 50mbit queue 10bdp";
const IMMEDIATE_ACK: u8 = 0x1f;
