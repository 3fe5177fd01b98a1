use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;

const MSS: Bytes = Bytes::new(1_000);

/// A sender that has always something to send.
struct Sender {
    prr: Prr,
    inflight: Bytes,
    target: Bytes,
}

impl Sender {
    /// Before the ACK that begins the episode.
    fn new(flight: u64, target: u64) -> Self {
        Self {
            prr: Prr::new(MSS * flight, MSS),
            inflight: MSS * flight,
            target: MSS * target,
        }
    }

    fn lose(&mut self, packets: u64) {
        self.inflight -= MSS * packets;
        self.prr.on_lost(MSS * packets);
    }

    /// An ACK for one packet. The packets that leave then, and those in flight before.
    fn ack(&mut self, is_safe: bool) -> (u64, u64) {
        self.inflight -= MSS;
        self.prr.on_delivered(&Delivered {
            bytes: MSS,
            inflight: self.inflight,
            target: self.target,
            mss: MSS,
            is_safe,
        });
        let before = self.inflight;
        let window = self.prr.window(self.inflight);
        let packets = (window - self.inflight).packets_floor(MSS);
        self.prr.on_sent(MSS * packets);
        self.inflight += MSS * packets;
        (packets, before.packets_floor(MSS))
    }
}

/// The first example of RFC 6937 §3.1: the first of 20 packets is lost, the window becomes 10. Two
/// packets have left by limited transmit with the first two of the ACKs.
#[test]
fn one_of_twenty_lost_brings_a_packet_for_every_second_ack() {
    let mut sender = Sender::new(20, 10);
    sender.lose(1);
    let sent: Vec<u64> = (3..=19).map(|_| sender.ack(false).0).collect();
    // Half a packet for each ACK, the first on credit; at the target one for one.
    assert_eq!(sent, [1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1]);
    assert_eq!(sender.inflight, MSS * 10);
    // The two of limited transmit, and then a round of the new window.
    for _ in 0..10 {
        assert_eq!(sender.ack(false).0, 1);
    }
    assert_eq!(sender.inflight, MSS * 10);
}

/// The second example: the first 15 of 20 packets are lost, and four are in flight after the third
/// ACK. The figure has one packet for each ACK.
#[test]
fn fifteen_of_twenty_lost_conserve_packets() {
    let mut sender = Sender::new(20, 10);
    sender.lose(15);
    let acks: Vec<_> = (17..=19).map(|_| sender.ack(false)).collect();
    assert_eq!(acks, [(1, 4), (1, 4), (1, 4)]);
}

/// The same with the slow-start reduction bound: two for each.
#[test]
fn fifteen_of_twenty_lost_double_when_repairs_arrive() {
    let mut sender = Sender::new(20, 10);
    sender.lose(15);
    let acks: Vec<_> = (17..=19).map(|_| sender.ack(true)).collect();
    assert_eq!(acks, [(2, 4), (2, 5), (2, 6)]);
    // Up to the target and not beyond.
    let acks: Vec<_> = (0..4).map(|_| sender.ack(true)).collect();
    assert_eq!(acks, [(2, 7), (2, 8), (1, 9), (1, 9)]);
}

#[test]
fn cubics_target_is_seven_packets_for_ten_acks() {
    let mut sender = Sender::new(100, 70);
    let sent: Vec<u64> = (0..10).map(|_| sender.ack(false).0).collect();
    // 0.7 k after k ACKs in whole packets, the first on credit.
    assert_eq!(sent, [1, 0, 1, 0, 1, 1, 0, 1, 1, 1]);
}

#[test]
fn the_share_is_rounded_up_to_a_byte() {
    let mut prr = Prr::new(MSS * 30, MSS);
    prr.on_sent(MSS);
    prr.on_delivered(&Delivered {
        bytes: Bytes::new(3_001),
        inflight: MSS * 20,
        target: MSS * 10,
        mss: MSS,
        is_safe: false,
    });
    // 3,001 ÷ 3 are 1,001, of which 1,000 have left.
    assert_eq!(prr.window(MSS * 20), MSS * 20 + Bytes::new(1));
}

#[test]
fn what_was_not_sent_is_banked() {
    let mut prr = Prr::new(MSS * 20, MSS);
    let ack = |inflight: u64| Delivered {
        bytes: MSS,
        inflight: MSS * inflight,
        target: MSS * 10,
        mss: MSS,
        is_safe: false,
    };
    for inflight in (10..20).rev() {
        prr.on_delivered(&ack(inflight));
    }
    // Ten were delivered; at the target there is no room.
    assert_eq!(prr.window(MSS * 10), MSS * 11);
    prr.on_delivered(&ack(5));
    assert_eq!(prr.window(MSS * 5), MSS * 10);
}

#[test]
fn one_packet_leaves_whatever_was_delivered() {
    let mut prr = Prr::new(MSS * 20, MSS);
    assert_eq!(prr.window(MSS * 18), MSS * 19);
    let ack = Delivered {
        bytes: MSS,
        inflight: MSS * 10,
        target: MSS * 10,
        mss: MSS,
        is_safe: false,
    };
    prr.on_delivered(&ack);
    assert_eq!(prr.window(MSS * 10), MSS * 11);
    prr.on_sent(MSS);
    prr.on_delivered(&ack);
    assert_eq!(prr.window(MSS * 10), MSS * 10);
}

#[test]
fn an_ack_that_delivers_nothing_changes_nothing() {
    let mut prr = Prr::new(MSS * 20, MSS);
    prr.on_sent(MSS);
    prr.on_delivered(&Delivered {
        bytes: Bytes::ZERO,
        inflight: Bytes::ZERO,
        target: MSS * 10,
        mss: MSS,
        is_safe: true,
    });
    assert_eq!(prr.window(MSS * 3), MSS * 3);
}

#[test]
fn an_episode_is_over_when_the_target_or_the_repairs_are_reached() {
    let mut prr = Prr::new(MSS * 20, MSS);
    prr.on_lost(MSS * 3);
    prr.on_sent(MSS);
    assert!(!prr.repair(MSS, MSS * 9, MSS * 10));
    assert!(prr.repair(MSS, MSS * 10, MSS * 10));
    assert!(prr.repair(MSS, MSS * 2, MSS * 10));
}

#[derive(Debug, Clone)]
enum Step {
    /// So much is delivered, and so much more found lost.
    Ack { bytes: u64, lost: u64 },
    /// Of what may leave, so many of 100 parts do.
    Send(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..5_000_u64, 0..2_000_u64).prop_map(|(bytes, lost)| Step::Ack { bytes, lost }),
        (0..=100_u64).prop_map(Step::Send),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Packets are conserved: at most one more than were delivered; and one more for each ACK that
    /// is safe.
    #[test]
    fn no_more_leaves_than_is_delivered(
        flight in 2_000..1_000_000_u64,
        percent in 10..=95_u64,
        is_slow_start in any::<bool>(),
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let target = Bytes::new(flight * percent / 100);
        let mut prr = Prr::new(Bytes::new(flight), MSS);
        let (mut inflight, mut delivered, mut safe_acks) = (flight, 0, 0);
        for step in steps {
            match step {
                Step::Ack { bytes, lost } => {
                    let bytes = bytes.min(inflight);
                    inflight -= bytes;
                    let lost = lost.min(inflight);
                    inflight -= lost;
                    delivered += bytes;
                    let was = Bytes::new(inflight);
                    let is_safe = is_slow_start && lost == 0;
                    safe_acks += u64::from(is_safe && bytes > 0);
                    prr.on_lost(Bytes::new(lost));
                    let forces = prr.out.is_zero();
                    prr.on_delivered(&Delivered {
                        bytes: Bytes::new(bytes), inflight: was, target, mss: MSS, is_safe,
                    });
                    // Below the target it is not overshot, but by the packet that is forced.
                    if was <= target && bytes > 0 {
                        let most = if forces { target + MSS } else { target };
                        prop_assert!(prr.window(was) <= most);
                    }
                }
                Step::Send(percent) => {
                    let room = prr.window(Bytes::new(inflight)).get() - inflight;
                    prr.on_sent(Bytes::new(room * percent / 100));
                    inflight += room * percent / 100;
                }
            }
            let most = delivered + MSS.get() * (1 + safe_acks);
            prop_assert!(prr.out <= Bytes::new(most), "{} sent, {delivered} delivered", prr.out);
        }
    }

    /// However the flight of the beginning is divided into ACKs and losses: when all of it is
    /// accounted for, the target is in flight, less what nobody delivered, and never more.
    #[test]
    fn an_episode_ends_at_the_target(
        packets in 10..500_u64,
        percent in 30..=95_u64,
        lost_of_100 in 0..=100_u64,
        acks in prop::collection::vec(1..20_u64, 500),
    ) {
        let (flight, target) = (MSS * packets, MSS * packets * percent / 100);
        let lost = packets * lost_of_100 / 100;
        let mut prr = Prr::new(flight, MSS);
        let mut inflight = MSS * (packets - lost);
        prr.on_lost(MSS * lost);
        let mut left = packets - lost;
        for ack in acks {
            let bytes = MSS * ack.min(left);
            left -= ack.min(left);
            if bytes.is_zero() {
                break;
            }
            inflight -= bytes;
            prr.on_delivered(&Delivered { bytes, inflight, target, mss: MSS, is_safe: false });
            let room = prr.window(inflight) - inflight;
            prr.on_sent(room);
            inflight += room;
        }
        prop_assert!(inflight <= target + MSS, "{inflight} of {target}");
        // Conservation keeps what is lost out of the flight, and nothing else.
        let least = target.min(MSS * (packets - lost));
        prop_assert!(inflight >= least, "{inflight}, not {least}");
    }
}
