//! What holds for every registered controller, whatever happens to its packets.

use cc_core::{
    AckedPacket, Control, ControllerChoice, Feedback, Flow, LostPacket, Pacer, Registry, Setup,
};
use core::ops::Range;
use core::time::Duration;
use proptest::prelude::*;
use units::{Bandwidth, Bytes, Timestamp};

/// Something that happens to a connection.
#[derive(Debug, Clone)]
enum Op {
    /// The window's worth, or as many packets as this, leave at once; window or not.
    Send { packets: u8, is_window: bool },
    /// Time passes.
    Wait(Duration),
    /// Of the oldest packets in flight, those with a bit set are acknowledged.
    Ack { which: u32, ce_marked: u8 },
    /// Of the oldest packets in flight, those with a bit set are lost.
    Lose { which: u16, is_persistent: bool },
    /// One ACK tells of both.
    AckAndLose { acked: u16, lost: u16 },
    /// The lost packets that left last arrive after all.
    ArriveLate(u8),
    /// The path's packet size changes.
    Mtu(u16),
    /// The application has nothing to send.
    AppLimited,
    /// Packets in flight are forgotten, as when keys are discarded.
    Discard(u8),
}

fn op() -> impl Strategy<Value = Op> {
    let micros = |range: Range<u64>| range.prop_map(Duration::from_micros).prop_map(Op::Wait);
    prop_oneof![
        6 => (any::<u8>(), any::<bool>())
            .prop_map(|(packets, is_window)| Op::Send { packets, is_window }),
        4 => micros(0..2_000),
        4 => micros(2_000..200_000),
        1 => micros(200_000..100_000_000),
        8 => (any::<u32>(), prop_oneof![9 => Just(0), 1 => 1..5_u8])
            .prop_map(|(which, ce_marked)| Op::Ack { which, ce_marked }),
        2 => (any::<u16>(), prop::bool::weighted(0.1))
            .prop_map(|(which, is_persistent)| Op::Lose { which, is_persistent }),
        2 => (any::<u16>(), any::<u16>()).prop_map(|(acked, lost)| Op::AckAndLose { acked, lost }),
        1 => (1..20_u8).prop_map(Op::ArriveLate),
        1 => (1_200..=65_527_u16).prop_map(Op::Mtu),
        1 => Just(Op::AppLimited),
        1 => any::<u8>().prop_map(Op::Discard),
    ]
}

/// A flow and the transport's side of it.
struct Connection {
    flow: Flow,
    pacer: Pacer,
    now: Timestamp,
    mss: Bytes,
    flying: Vec<AckedPacket>,
    lost: Vec<LostPacket>,
    has_rtt: bool,
    is_paced: bool,
}

impl Connection {
    fn new(choice: &ControllerChoice, seed: u64) -> Self {
        let (now, mss) = (Timestamp::from_millis(5), Bytes::new(1_200));
        let setup = Setup {
            sends_ect1: seed % 2 == 1,
            ..Setup::new(now, mss, seed)
        };
        let flow = Flow::new(choice.build(&setup), &setup);
        Self {
            pacer: Pacer::new(now, flow.control(), mss),
            flow,
            now,
            mss,
            flying: Vec::new(),
            lost: Vec::new(),
            has_rtt: false,
            is_paced: !choice.to_string().contains("pacing=off"),
        }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Send { packets, is_window } => self.send(u64::from(packets), is_window),
            Op::Wait(time) => self.now += time,
            Op::Ack { which, ce_marked } => self.feedback(which, 0, ce_marked.into(), false),
            Op::Lose {
                which,
                is_persistent,
            } => self.feedback(0, which.into(), 0, is_persistent),
            Op::AckAndLose { acked, lost } => self.feedback(acked.into(), lost.into(), 0, false),
            Op::ArriveLate(count) => self.arrive_late(count.into()),
            Op::Mtu(mss) => {
                self.mss = Bytes::new(mss.into());
                self.flow.on_mtu(self.now, self.mss);
            }
            Op::AppLimited => self.flow.on_app_limited(),
            Op::Discard(count) => {
                let count = usize::from(count).min(self.flying.len());
                let bytes = self.flying.drain(..count).map(|packet| packet.bytes).sum();
                self.flow.on_discarded(bytes);
            }
        }
        self.pacer
            .set_control(self.now, self.flow.control(), self.mss);
        self.check();
    }

    fn send(&mut self, packets: u64, is_window: bool) {
        let room = self.flow.control().cwnd.saturating_sub(self.inflight());
        let window = room.packets_floor(self.mss).min(MOST_AT_ONCE);
        for _ in 0..if is_window { window } else { packets } {
            let stamp = self.flow.on_sent(self.now, self.mss);
            self.flying.push(AckedPacket {
                stamp,
                bytes: self.mss,
            });
        }
    }

    fn feedback(&mut self, acked: u32, lost: u32, ce_marked: u64, is_persistent: bool) {
        let lost = self.take(lost);
        let acked = self.take(acked);
        let newest = acked.last().map(|packet| packet.stamp.sent_at);
        let rtt = newest.map(|sent_at| self.now.since(sent_at).max(Duration::from_nanos(1)));
        self.has_rtt |= rtt.is_some();
        let mut previous = None;
        let lost: Vec<LostPacket> = lost
            .into_iter()
            .map(|AckedPacket { stamp, bytes }| LostPacket {
                stamp,
                bytes,
                starts_range: previous.replace(stamp.sequence) != Some(stamp.sequence - 1),
            })
            .collect();
        self.flow.on_feedback(
            &Feedback {
                acked: &acked,
                lost: &lost,
                rtt,
                ce_marked: if acked.is_empty() { 0 } else { ce_marked },
                is_persistent_congestion: is_persistent && !lost.is_empty(),
                ..Feedback::at(self.now)
            },
            &mut (),
        );
        self.lost.extend(lost);
    }

    /// Takes out those of the oldest 32 packets in flight whose bit is set.
    fn take(&mut self, which: u32) -> Vec<AckedPacket> {
        let mut index = 0;
        let mut is_taken = |_: &mut AckedPacket| {
            index += 1;
            index <= 32 && which >> (index - 1) & 1 == 1
        };
        self.flying.extract_if(.., &mut is_taken).collect()
    }

    fn arrive_late(&mut self, count: usize) {
        for packet in self.lost.split_off(self.lost.len().saturating_sub(count)) {
            self.flow.on_spurious_loss(self.now, &packet, &mut ());
        }
    }

    fn inflight(&self) -> Bytes {
        self.flying.iter().map(|packet| packet.bytes).sum()
    }

    fn check(&mut self) {
        let Control {
            cwnd,
            pacing_rate,
            send_quantum,
        } = self.flow.control();
        let state = self.flow.snapshot().to_string();
        // BBR leaves itself one packet after persistent congestion, the others two.
        let least = if state.starts_with("bbr") { 1 } else { 2 };
        assert!(cwnd >= self.mss * least, "{state}");
        assert!(!pacing_rate.is_zero() && !send_quantum.is_zero(), "{state}");
        if self.has_rtt && self.is_paced {
            assert!(pacing_rate < Bandwidth::MAX, "{state}");
        }
        let path = self.flow.path_state();
        assert_eq!(path.inflight, self.inflight(), "{state}");
        assert!(self.pacer.next_departure(self.now) >= self.now, "{state}");
    }
}

/// Every registered controller, and the settings of the loss-based ones that change what runs.
fn choices() -> Vec<ControllerChoice> {
    let registry = Registry::standard();
    let names = registry.specs().iter().map(|spec| spec.name);
    let variants = [
        "cubic:slow_start=standard,fast_convergence=off",
        "cubic:pacing=off",
        "cubic:prr=on",
        "new_reno:slow_start=hystartpp,undo=off",
        "new_reno:prr=on,pacing=off",
    ];
    names
        .chain(variants)
        .map(|text| registry.choose(text).expect("it is registered"))
        .collect()
}

fn run(choice: &ControllerChoice, ops: &[Op], seed: u64) -> Vec<Control> {
    let mut connection = Connection::new(choice, seed);
    let step = |op| {
        connection.apply(op);
        connection.flow.control()
    };
    ops.iter().map(step).collect()
}

/// A failing history is printed and shrunk; no file remembers it.
fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Keeps a window that grew without bound from filling the memory.
const MOST_AT_ONCE: u64 = 500;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_controller_survives_any_history_and_repeats_it(
        ops in prop::collection::vec(op(), 1..200),
        seed in any::<u64>(),
    ) {
        for choice in choices() {
            let first = run(&choice, &ops, seed);
            prop_assert_eq!(first, run(&choice, &ops, seed), "{}", choice);
        }
    }
}
