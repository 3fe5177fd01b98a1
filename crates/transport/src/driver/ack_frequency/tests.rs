use super::*;
use crate::tap::Ack;

const MS: Duration = Duration::from_millis(1);
const MSS: Bytes = Bytes::new(1_200);
const PEERS_DELAY: Option<Duration> = Some(Duration::from_millis(25));

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A window of so many packets, and round trips of `srtt` where 40 ms is the least.
fn on_path(acks: &mut AckFrequency, window: u64, srtt: u32) {
    acks.on_path(MSS * window, MSS, MS * srtt, MS * 40);
}

/// The packets for one ACK that are asked for, which packet `number` does.
fn ask(acks: &mut AckFrequency, millis: u64, number: u64) -> Option<u32> {
    let request = acks.request(at(millis), || PEERS_DELAY)?;
    acks.on_sent(at(millis), request, number, MS * 40);
    Some(request.packets)
}

fn acknowledge(acks: &mut AckFrequency, space: Space, numbers: (u64, u64)) {
    let mut received = Received::default();
    received.ranges.push(numbers);
    received.acks.push(Ack {
        space,
        largest: numbers.1,
        delay: Duration::ZERO,
        ecn: None,
        ranges: 1,
    });
    acks.on_received(&received);
}

#[test]
fn without_a_queue_nothing_is_asked() {
    let mut acks = AckFrequency::new(Some(10));
    on_path(&mut acks, 1_000, 40);
    assert_eq!(ask(&mut acks, 0, 1), None);
}

#[test]
fn as_many_packets_share_an_ack_as_are_queued() {
    let mut acks = AckFrequency::new(Some(100));
    // Half of 40 packets are queued, but the window is to have four ACKs.
    on_path(&mut acks, 40, 80);
    assert_eq!(ask(&mut acks, 0, 1), Some(10));
    let mut acks = AckFrequency::new(Some(100));
    on_path(&mut acks, 40, 44);
    assert_eq!(ask(&mut acks, 0, 1), Some(3));
}

#[test]
fn no_more_are_asked_for_than_configured() {
    for most in [0, 1, 2] {
        let mut acks = AckFrequency::new(Some(most));
        on_path(&mut acks, 1_000, 400);
        assert_eq!(ask(&mut acks, 0, 1), None, "{most}");
    }
    let mut acks = AckFrequency::new(Some(6));
    on_path(&mut acks, 1_000, 400);
    assert_eq!(ask(&mut acks, 0, 1), Some(6));
}

#[test]
fn a_peer_without_the_extension_is_not_asked() {
    let mut acks = AckFrequency::new(Some(10));
    on_path(&mut acks, 1_000, 400);
    assert_eq!(acks.request(at(0), || None), None);
}

#[test]
fn when_the_queue_is_gone_fewer_are_asked_for_step_by_step() {
    let mut acks = AckFrequency::new(Some(10));
    on_path(&mut acks, 100, 80);
    assert_eq!(ask(&mut acks, 0, 1), Some(10));
    on_path(&mut acks, 100, 40);
    let asked: Vec<_> = (1..=500).filter_map(|ms| ask(&mut acks, ms, ms)).collect();
    assert_eq!(asked[..5], [7, 5, 3, 2, 2][..5]);
}

#[test]
fn a_window_that_collapses_is_told_of_at_once() {
    let mut acks = AckFrequency::new(Some(10));
    on_path(&mut acks, 100, 80);
    assert_eq!(ask(&mut acks, 0, 1), Some(10));
    on_path(&mut acks, 4, 80);
    assert_eq!(ask(&mut acks, 1, 2), Some(2));
}

#[test]
fn a_request_is_made_again_until_it_is_acknowledged() {
    let mut acks = AckFrequency::new(Some(10));
    on_path(&mut acks, 100, 80);
    assert_eq!(ask(&mut acks, 0, 7), Some(10));
    acknowledge(&mut acks, Space::Handshake, (0, 9));
    acknowledge(&mut acks, Space::Data, (8, 9));
    assert_eq!(ask(&mut acks, 129, 10), None, "two round trips and delays");
    assert_eq!(ask(&mut acks, 130, 11), Some(10));
    acknowledge(&mut acks, Space::Data, (11, 11));
    assert_eq!(ask(&mut acks, 1_000, 12), None);
}

#[test]
fn where_no_number_is_configured_it_has_to_be_needed() {
    let mut acks = AckFrequency::new(None);
    on_path(&mut acks, 1_000, 400);
    assert_eq!(ask(&mut acks, 0, 1), None);
    acks.need();
    on_path(&mut acks, 100, 400);
    assert_eq!(ask(&mut acks, 0, 1), Some(6), "a sixteenth of the window");
    on_path(&mut acks, 1_000, 400);
    assert_eq!(ask(&mut acks, 1_000, 2), Some(10));
}

#[test]
fn where_no_number_is_configured_a_small_window_bears_four_packets_for_an_ack_at_most() {
    for (window, packets) in [(8, None), (12, Some(3)), (16, Some(4)), (79, Some(4))] {
        let mut acks = AckFrequency::new(None);
        acks.need();
        on_path(&mut acks, window, 400);
        assert_eq!(ask(&mut acks, 0, 1), packets, "{window}");
    }
}

#[test]
fn another_controller_gets_each_ack_until_fewer_are_needed_again() {
    for (most, asked) in [(None, 2), (Some(10), 10)] {
        let mut acks = AckFrequency::new(most);
        acks.need();
        on_path(&mut acks, 1_000, 400);
        assert_eq!(ask(&mut acks, 0, 1), Some(10));
        acknowledge(&mut acks, Space::Data, (1, 1));
        acks.on_new_controller();
        on_path(&mut acks, 1_000, 400);
        ask(&mut acks, 1_000, 2);
        assert_eq!(acks.packets(), asked, "{most:?}");
    }
}
