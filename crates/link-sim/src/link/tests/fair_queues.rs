//! Fair queues before a bottleneck, and what becomes of flows that share it.

use super::*;

/// Sends packets of one size in equal distances, whatever becomes of them.
#[derive(Clone, Copy)]
struct Source {
    size: u64,
    gap: Duration,
}

/// What reached the far end of one source's packets.
#[derive(Clone, Default)]
struct Arrived {
    packets: u64,
    bytes: u64,
    worst_delay: Duration,
}

/// Every source is a flow of its own. What leaves within `length` counts.
fn run(text: &str, sources: &[Source], length: Duration) -> Vec<Arrived> {
    let spec: LinkSpec = text.parse().unwrap();
    let mut link = spec.build(Duration::ZERO, 1);
    let end = Timestamp::ZERO + length;
    let mut next = vec![Timestamp::ZERO; sources.len()];
    let mut arrived = vec![Arrived::default(); sources.len()];
    while let Some((flow, now)) = next.iter().copied().enumerate().min_by_key(|(_, at)| *at)
        && now < end
    {
        let Source { size, gap } = sources[flow];
        let packet = Packet::new(Bytes::new(size), now);
        link.handle_packet(now, packet.flow(flow as u64));
        next[flow] = now + gap;
        collect(&mut link, now, &mut arrived);
    }
    collect(&mut link, end, &mut arrived);
    assert_conserved(&link);
    arrived
}

fn collect(link: &mut Link<Timestamp>, until: Timestamp, arrived: &mut [Arrived]) {
    while let Some(Delivery { due, packet }) = link.poll_output(until) {
        let flow = &mut arrived[packet.flow as usize];
        flow.packets += 1;
        flow.bytes += packet.size.get();
        flow.worst_delay = flow.worst_delay.max(due.since(packet.payload));
    }
}

const SEC: Duration = Duration::from_secs(1);
/// 20 Mbit/s.
const GREEDY: Source = Source {
    size: 1_250,
    gap: Duration::from_micros(500),
};
/// 40 kbit/s.
const SPARSE: Source = Source {
    size: 100,
    gap: Duration::from_millis(20),
};

#[test]
fn a_sparse_flow_waits_for_no_more_than_the_packet_in_transmission() {
    for aqm in ["fq_codel", "cake"] {
        let text = format!("rate 10mbit aqm {aqm}");
        let arrived = run(&text, &[GREEDY, SPARSE], SEC * 10);
        assert_eq!(arrived[1].packets, 500, "{aqm}");
        // A greedy packet takes 1 ms, a sparse one 0.08 ms. Cake's quantum of 305 bytes lets the
        // other one before it when this one's is spent.
        let worst = arrived[1].worst_delay;
        assert!(worst <= Duration::from_micros(2_160), "{aqm}: {worst:?}");
    }
    let arrived = run("rate 10mbit queue 1000p", &[GREEDY, SPARSE], SEC * 10);
    assert!(arrived[1].worst_delay >= Duration::from_millis(900));
}

#[test]
fn greedy_flows_share_whatever_they_send() {
    let sources = [0, 1, 2, 3, 4, 5, 6, 7].map(|n| Source {
        size: 1_500 - 150 * n,
        gap: Duration::from_micros(300 + 100 * n),
    });
    for aqm in ["fq_codel", "cake"] {
        let text = format!("rate 10mbit aqm {aqm}");
        let arrived = run(&text, &sources, SEC * 20);
        // An eighth of 10 Mbit/s for 20 s.
        let share = 3_125_000_u64;
        for Arrived { bytes, .. } in arrived {
            assert!(bytes.abs_diff(share) < share / 100, "{aqm}: {bytes}");
        }
    }
}

#[test]
fn what_a_flow_leaves_of_its_share_the_others_have() {
    // 2 Mbit/s, less than a quarter of 10 Mbit/s.
    let modest = Source {
        size: 1_000,
        gap: Duration::from_millis(4),
    };
    for aqm in ["fq_codel", "cake"] {
        let text = format!("rate 10mbit aqm {aqm}");
        let arrived = run(&text, &[modest, GREEDY, GREEDY, GREEDY], SEC * 20);
        assert!(arrived[0].packets >= 4_999, "{aqm}: {}", arrived[0].packets);
        // (10 − 2) ÷ 3 Mbit/s for 20 s.
        let share = 6_666_667_u64;
        for Arrived { bytes, .. } in &arrived[1..] {
            assert!(bytes.abs_diff(share) < share / 100, "{aqm}: {bytes}");
        }
    }
}

#[test]
fn what_waits_stays_when_the_discipline_changes() {
    let mut link = link("rate 10mbit queue 100p");
    let offered = 61;
    for number in 0..offered {
        let packet = packet(number, 1_250).flow(number % 3);
        link.handle_packet(at(0), packet);
    }
    let disciplines = [
        "fq_codel",
        "cake",
        "codel",
        "cake rtt 1ms",
        "fq_codel flows 2",
    ];
    for (turn, aqm) in (1..).zip(disciplines) {
        let spec = format!("rate 10mbit queue 100p aqm {aqm}").parse().unwrap();
        link.reconfigure(at(1_000 * turn), &spec, Duration::ZERO);
        assert_conserved(&link);
    }
    link.reconfigure(at(6_000), &LinkSpec::default(), Duration::ZERO);
    let mut numbers = numbers(&drain(&mut link));
    numbers.sort_unstable();
    assert_eq!(numbers, (0..offered).collect::<Vec<_>>());
}
