use super::*;
use alloc::vec::Vec;

const PACKET: Bytes = Bytes::new(1_000);

const fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A sampler with what is in flight.
struct Path {
    sampler: Sampler,
    inflight: Bytes,
    min_rtt: u64,
}

impl Path {
    fn new() -> Self {
        Self {
            sampler: Sampler::new(Timestamp::ZERO),
            inflight: Bytes::ZERO,
            min_rtt: 0,
        }
    }

    fn send(&mut self, now: Timestamp) -> AckedPacket {
        let stamp = self.sampler.on_sent(now, PACKET, self.inflight);
        self.inflight += PACKET;
        AckedPacket {
            stamp,
            bytes: PACKET,
        }
    }

    fn lose(&mut self, packet: &AckedPacket) -> LostPacket {
        let lost = LostPacket {
            stamp: packet.stamp,
            bytes: packet.bytes,
            starts_range: true,
        };
        self.sampler.on_lost(&lost);
        self.inflight -= packet.bytes;
        lost
    }

    fn ack(&mut self, now: Timestamp, acked: &[AckedPacket]) -> RateSample {
        let (newest, newly_acked) = self.sampler.on_acked(now, acked).unwrap();
        self.inflight -= newly_acked;
        self.sampler.sample(newest, newly_acked, self.min_rtt, None)
    }
}

fn rate(sample: &RateSample) -> u64 {
    sample.delivery_rate.unwrap().bytes_per_sec()
}

#[test]
fn a_steady_stream_is_sampled_at_its_rate() {
    let mut path = Path::new();
    // A packet each millisecond, acknowledged 10 ms later.
    let mut sent = Vec::new();
    for ms in 0..100 {
        if ms >= 10 {
            let sample = path.ack(at(ms), &[sent[ms as usize - 10]]);
            if ms >= 20 {
                assert_eq!(rate(&sample), 1_000_000);
            }
        }
        sent.push(path.send(at(ms)));
    }
}

#[test]
fn bunched_acknowledgements_do_not_exceed_the_rate_of_sending() {
    let mut path = Path::new();
    let sent: Vec<_> = (0..10).map(|ms| path.send(at(ms))).collect();
    path.ack(at(50), &sent[..1]);
    // Nine packets at once, a microsecond after the first.
    let now = at(50) + Duration::from_micros(1);
    let sample = path.ack(now, &sent[1..]);
    assert!(rate(&sample) <= 1_111_112, "{sample:?}");
}

#[test]
fn of_packets_sent_at_the_same_time_the_later_one_is_the_newest() {
    let mut path = Path::new();
    let first = path.send(at(0));
    let second = path.send(at(0));
    let sample = path.ack(at(10), &[second, first]);
    assert_eq!(sample.tx_in_flight, PACKET * 2);
}

#[test]
fn an_interval_below_the_least_round_trip_carries_no_rate() {
    let mut path = Path::new();
    path.min_rtt = 20_000_000;
    let packet = path.send(at(0));
    let sample = path.ack(at(19), &[packet]);
    assert_eq!(sample.delivery_rate, None);
    assert_eq!(sample.delivered, PACKET);
}

#[test]
fn no_time_at_all_carries_no_rate_before_a_round_trip_is_known() {
    let mut path = Path::new();
    let packet = path.send(at(5));
    assert_eq!(path.ack(at(5), &[packet]).delivery_rate, None);
}

#[test]
fn idle_time_counts_neither_as_sending_nor_as_delivery() {
    let mut path = Path::new();
    let packet = path.send(at(0));
    path.ack(at(10), &[packet]);
    let packet = path.send(at(60_000));
    assert_eq!(
        path.ack(at(60_010), &[packet]).interval,
        Duration::from_millis(10)
    );
}

#[test]
fn samples_are_application_limited_until_the_bubble_has_left_the_pipe() {
    let mut path = Path::new();
    let before = path.send(at(0));
    path.sampler.on_app_limited(path.inflight);
    let within = path.send(at(5));
    assert!(!path.ack(at(10), &[before]).is_app_limited);
    // All that was in flight is delivered, but nothing after the bubble: it is still on its way.
    assert!(path.sampler.is_app_limited());
    assert!(path.ack(at(15), &[within]).is_app_limited);
    assert!(!path.sampler.is_app_limited());
    let after = path.send(at(16));
    assert!(!path.ack(at(26), &[after]).is_app_limited);
}

#[test]
fn loss_is_told_since_the_packet_left_and_since_the_last_sample() {
    let mut path = Path::new();
    let packets: Vec<_> = (0..4).map(|ms| path.send(at(ms))).collect();
    path.lose(&packets[0]);
    let later = path.send(at(10));
    path.lose(&packets[1]);
    let sample = path.ack(at(20), &packets[2..3]);
    assert_eq!((sample.lost, sample.newly_lost), (PACKET * 2, PACKET * 2));
    let sample = path.ack(at(21), &[later]);
    assert_eq!((sample.lost, sample.newly_lost), (PACKET, Bytes::ZERO));
}

#[test]
fn a_late_packet_is_delivered_and_not_lost() {
    let mut path = Path::new();
    let packets: Vec<_> = (0..3).map(|ms| path.send(at(ms))).collect();
    let lost = path.lose(&packets[0]);
    path.ack(at(20), &packets[1..]);
    path.sampler.on_spurious_loss(at(21), &lost);
    assert_eq!(path.sampler.delivered(), PACKET * 3);
    assert_eq!(path.sampler.lost(), Bytes::ZERO);
    // The next flight is sampled from the newest packet delivered, not from the late one.
    let packet = path.send(at(22));
    assert_eq!(packet.stamp.first_sent_at, at(22));
}

#[test]
fn a_loss_after_one_that_was_none_is_told_as_new() {
    let mut path = Path::new();
    let packets: Vec<_> = (0..5).map(|ms| path.send(at(ms))).collect();
    let late = path.lose(&packets[0]);
    assert_eq!(path.ack(at(20), &packets[1..2]).newly_lost, PACKET);
    path.sampler.on_spurious_loss(at(21), &late);
    path.lose(&packets[2]);
    assert_eq!(path.ack(at(22), &packets[3..]).newly_lost, PACKET);
}

#[test]
fn a_late_packet_moves_the_time_of_delivery_for_what_leaves_after_it() {
    let mut path = Path::new();
    let packets: Vec<_> = (0..3).map(|ms| path.send(at(ms))).collect();
    let late = path.lose(&packets[0]);
    path.ack(at(20), &packets[1..2]);
    path.sampler.on_spurious_loss(at(21), &late);
    assert_eq!(path.send(at(22)).stamp.delivered_at, at(21));
}

#[test]
fn a_packet_that_was_overtaken_begins_the_flight_that_is_sampled_next() {
    let mut path = Path::new();
    let packets: Vec<_> = (0..3).map(|ms| path.send(at(ms))).collect();
    path.ack(at(20), &packets[1..2]);
    assert_eq!(path.send(at(20)).stamp.first_sent_at, at(1));
    path.ack(at(21), &packets[..1]);
    assert_eq!(path.send(at(21)).stamp.first_sent_at, at(0));
}
