use super::*;
use crate::tests::flow_driver::{FlowDriver, MS, MSS};
use units::Bandwidth;

/// A round trip without a queue.
const BASE: Duration = Duration::from_millis(100);

fn driver() -> FlowDriver {
    FlowDriver::new("copa")
}

/// A flow of 40 packets that has seen no queue yet.
fn with_40_packets() -> FlowDriver {
    let mut driver = driver();
    driver.round(BASE);
    driver.round(BASE);
    assert_eq!(driver.packets(), 40);
    driver
}

/// A flow in the default mode, a round trip of 106 ms behind it.
fn in_default_mode() -> FlowDriver {
    let mut driver = with_40_packets();
    driver.round(MS * 106);
    assert_eq!(driver.state(), "Default");
    driver
}

/// A flow beside one that keeps the round trip at 200 ms, since as many round trips as it takes
/// to see that.
fn competing() -> FlowDriver {
    let mut driver = with_40_packets();
    for _ in 0..6 {
        driver.round(MS * 200);
    }
    assert_eq!(driver.state(), "Competitive");
    driver
}

#[test]
fn slow_start_doubles_the_window_each_round_trip_without_a_queue() {
    let mut driver = driver();
    for packets in [10, 20, 40, 80] {
        assert_eq!(driver.packets(), packets);
        driver.round(BASE);
    }
    assert_eq!(driver.state(), "SlowStart");
}

/// δ = 1/2 wants 2 packets in the queue: cwnd × 5 ms may be 2 packets × 105 ms, so 42 packets.
#[test]
fn slow_start_ends_where_the_rate_is_above_the_target() {
    let mut driver = with_40_packets();
    driver.fill();
    driver.now += MS * 105;
    driver.ack(2);
    driver.ack(2);
    assert_eq!((driver.state(), driver.packets()), ("SlowStart", 44));
    // 44 packets are above. The window shrinks by 2 packets × 2 ÷ 44, 90.9 bytes.
    driver.ack(2);
    assert_eq!(driver.state(), "Default");
    assert_eq!(driver.cwnd(), Bytes::new(43_910));
    // With the 40,000 ÷ 44,000 that were left: 4,040,000 ÷ 43,910.
    driver.ack(2);
    assert_eq!(driver.cwnd(), Bytes::new(43_818));
}

#[test]
fn a_smaller_delta_wants_more_in_the_queue() {
    let mut driver = FlowDriver::new("copa:delta=0.25");
    driver.round(BASE);
    driver.round(BASE);
    // 84 packets are the limit, and a whole round trip begins with 80 at most.
    driver.round(MS * 105);
    assert_eq!((driver.state(), driver.packets()), ("SlowStart", 80));
}

#[test]
fn a_round_trip_moves_the_window_by_1_over_delta_packets() {
    let mut driver = in_default_mode();
    for rtt in [MS * 106, BASE] {
        let before = driver.cwnd();
        driver.round(rtt);
        let moved = before.get().abs_diff(driver.cwnd().get());
        assert!((1_900..2_100).contains(&moved), "{moved}");
        assert_eq!(driver.cwnd() < before, rtt > BASE);
    }
}

#[test]
fn the_fourth_round_trip_in_one_direction_doubles_the_velocity() {
    let mut driver = FlowDriver::new("copa:mode_switching=off");
    while driver.packets() < 160 {
        driver.round(BASE);
    }
    let mut windows = alloc::vec::Vec::new();
    for _ in 0..6 {
        driver.round(MS * 150);
        windows.push(driver.cwnd().get());
    }
    let steps: alloc::vec::Vec<_> = windows
        .windows(2)
        .map(|pair| ((pair[0] - pair[1]) + 500) / 1_000)
        .collect();
    // The first window is what the first of the six left. A round trip's end is seen with the
    // first ACK of the next, so that the fifth is the first to be faster.
    assert_eq!(steps, [2, 2, 2, 4, 8]);
}

/// Steps of a window beyond the 107 packets which the path carried in 100 ms before, when it comes
/// back from less.
fn steps_beyond_a_full_path(controller: &str) -> alloc::vec::Vec<u64> {
    let mut driver = FlowDriver::new(controller);
    while driver.packets() < 160 {
        driver.round(BASE);
    }
    for _ in 0..9 {
        driver.round(MS * 150);
    }
    assert!(driver.packets() < 100);
    let mut steps = alloc::vec::Vec::new();
    for _ in 0..20 {
        let before = driver.packets();
        driver.round(BASE);
        if (107..200).contains(&before) {
            steps.push(driver.packets() - before);
        }
    }
    steps
}

#[test]
fn speed_ends_at_the_window_that_filled_the_path_before() {
    let with = steps_beyond_a_full_path("copa:mode_switching=off");
    let without = steps_beyond_a_full_path("copa:mode_switching=off,velocity_stop=off");
    assert_eq!(with, [2, 2, 2, 4, 8, 15, 29, 55]);
    assert_eq!(without, [169]);
}

#[test]
fn no_window_moves_faster_than_slow_start() {
    let mut driver = FlowDriver::new("copa:delta=0.001,loss_reduction=1");
    for packets in [10, 20] {
        assert_eq!(driver.packets(), packets);
        driver.round(BASE);
    }
    // Out of slow start for too much loss; a thousand packets are wanted.
    for _ in 0..3 {
        driver.fill();
        driver.now += BASE;
        driver.lose(driver.packets() as usize / 2);
        driver.finish_round(Duration::ZERO);
    }
    assert_eq!(driver.state(), "Default");
    let before = driver.packets();
    driver.round(BASE);
    assert_eq!(driver.packets(), 2 * before);
}

#[test]
fn packets_leave_at_twice_the_window_per_standing_round_trip() {
    let mut driver = driver();
    assert_eq!(driver.flow.control().pacing_rate, Bandwidth::MAX);
    driver.round(BASE);
    let rate = driver.flow.control().pacing_rate;
    assert_eq!(rate, Bandwidth::from_bytes_per_sec(400_000));
    // The smoothed round trip would be 112.5 ms.
    driver.fill();
    driver.now += MS * 200;
    driver.ack(2);
    let rate = driver.flow.control().pacing_rate;
    assert_eq!(rate, Bandwidth::from_transfer(driver.cwnd() * 2, MS * 200));
}

#[test]
fn five_full_round_trips_with_a_queue_are_somebody_elses() {
    let mut driver = with_40_packets();
    for _ in 0..5 {
        driver.round(MS * 200);
        assert_eq!(driver.state(), "Default");
    }
    driver.round(MS * 200);
    assert_eq!(driver.state(), "Competitive");
    assert_eq!(driver.states.0, ["Default", "Competitive"]);
}

#[test]
fn an_empty_queue_ends_the_competition() {
    let mut driver = competing();
    driver.round(MS * 112);
    assert_eq!(driver.state(), "Competitive");
    driver.round(MS * 108);
    assert_eq!(driver.state(), "Default");
}

#[test]
fn without_mode_switching_there_is_no_competition() {
    let mut driver = FlowDriver::new("copa:mode_switching=off");
    for rtt in [100, 100, 200, 200, 200, 200, 200, 200, 200, 200] {
        driver.round(MS * rtt);
    }
    assert_eq!(driver.state(), "Default");
}

/// Of 200 ms in all 100 ms are the queue: the target is a window of 2 ÷ δ packets, so each round
/// trip without loss, which adds a packet to 1 ÷ δ, adds two to the window.
#[test]
fn competing_grows_as_a_loss_based_sender_does_and_halves_with_it() {
    let mut driver = competing();
    for _ in 0..30 {
        driver.round(MS * 200);
    }
    let before = driver.packets();
    for _ in 0..10 {
        driver.round(MS * 200);
    }
    let grown = driver.packets();
    assert!((15..=25).contains(&(grown - before)), "{before} {grown}");
    driver.fill();
    driver.now += MS * 200;
    driver.lose(1);
    driver.round(MS * 200);
    for _ in 0..4 {
        driver.round(MS * 200);
    }
    let halved = driver.packets();
    assert!(halved * 10 <= grown * 7, "{grown} {halved}");
}

#[test]
fn the_default_mode_takes_no_notice_of_a_loss() {
    let mut driver = in_default_mode();
    driver.fill();
    driver.now += BASE;
    let before = driver.cwnd();
    driver.lose(1);
    assert_eq!(driver.cwnd(), before);
    driver.finish_round(Duration::ZERO);
    assert!(driver.cwnd() > before);
}

/// Windows in packets after round trips with a queue, of which `lose` took so many of 100.
fn after_losing(percent: u64, lose: fn(&mut FlowDriver)) -> [u64; 4] {
    let mut driver = driver();
    while driver.packets() < 80 {
        driver.round(BASE);
    }
    core::array::from_fn(|_| {
        driver.fill();
        driver.now += MS * 150;
        for _ in 0..driver.packets() * percent / 100 {
            lose(&mut driver);
        }
        driver.finish_round(Duration::ZERO);
        driver.packets()
    })
}

/// The share is judged with the first ACKs of the second round trip and of the fourth, of those
/// that ended before; the first two are the last of slow start, which lost little.
#[test]
fn losing_more_than_a_tenth_of_two_round_trips_cuts_the_window() {
    let lose = |driver: &mut FlowDriver| drop(driver.lose(1));
    assert_eq!(after_losing(10, lose), [78, 76, 74, 72]);
    assert_eq!(after_losing(12, lose), [78, 76, 74, 49]);
}

/// δ = 0.05 wants 20 packets in the queue, and a window of 320 has 29 there. A fifth of each round
/// trip is lost, so that ACKs for four fifths of the window move it by 16 packets, by 8 when half
/// as many are wanted, and by 11 × 4/5 a round trip later.
#[test]
fn what_is_wanted_in_the_queue_gives_way_to_loss() {
    let mut driver = FlowDriver::new("copa:delta=0.05,loss_reduction=1");
    while driver.packets() < 320 {
        driver.round(BASE);
    }
    driver.round(MS * 110);
    assert_eq!(driver.state(), "Default");
    let mut steps = alloc::vec::Vec::new();
    for _ in 0..4 {
        driver.fill();
        driver.now += MS * 110;
        let before = driver.packets();
        driver.lose(before as usize / 5);
        driver.finish_round(Duration::ZERO);
        steps.push(before - driver.packets());
    }
    assert_eq!(steps, [17, 16, 8, 9]);
}

#[test]
fn marks_count_as_losses() {
    assert_eq!(after_losing(10, FlowDriver::mark), [86, 84, 82, 80]);
    assert_eq!(after_losing(12, FlowDriver::mark), [87, 85, 83, 55]);
}

#[test]
fn a_window_that_is_not_filled_does_not_grow() {
    let mut driver = driver();
    driver.round(BASE);
    for _ in 0..2 {
        driver.send(3);
        driver.finish_round(BASE);
    }
    let before = driver.cwnd();
    for _ in 0..100 {
        driver.send(3);
        driver.finish_round(BASE);
    }
    assert_eq!(driver.cwnd(), before);
}

#[test]
fn a_minute_of_silence_changes_nothing() {
    let mut driver = in_default_mode();
    let before = driver.cwnd();
    driver.now += Duration::from_secs(60);
    assert_eq!(driver.cwnd(), before);
    driver.round(BASE);
    assert_eq!(driver.state(), "Default");
    assert!(driver.cwnd() >= before);
    assert_eq!(driver.flow.snapshot().min_rtt, Some(BASE));
}

#[test]
fn persistent_congestion_starts_over_with_two_packets_and_no_knowledge() {
    let mut driver = competing();
    driver.fill();
    driver.now += Duration::from_secs(5);
    let feedback = crate::events::Feedback {
        is_persistent_congestion: true,
        ..crate::events::Feedback::at(driver.now)
    };
    driver.tell(&feedback);
    assert_eq!((driver.state(), driver.cwnd()), ("SlowStart", MSS * 2));
    assert_eq!(driver.flow.snapshot().min_rtt, None);
    assert!(driver.flow.control().pacing_rate < Bandwidth::MAX);
    driver.lose(driver.packets() as usize);
    driver.finish_round(MS * 300);
    assert_eq!(driver.flow.snapshot().min_rtt, Some(MS * 5_300));
}

#[test]
fn two_of_the_largest_packets_always_fit() {
    let mut driver = in_default_mode();
    driver.flow.on_mtu(driver.now, Bytes::new(60_000));
    assert_eq!(driver.cwnd(), Bytes::new(120_000));
}

#[test]
fn the_initial_window_is_that_of_a_new_packet_size() {
    let mut driver = driver();
    driver.flow.on_mtu(driver.now, Bytes::new(1_400));
    assert_eq!(driver.cwnd(), Bytes::new(14_000));
}

#[test]
fn the_diagram_has_five_arrows() {
    let competing = || {
        let tuning = Tuning::new(&Params::defaults(PARAMS));
        State::Competitive(Competition::new(&tuning))
    };
    let states = || [State::SlowStart, State::Default, competing()];
    let mut arrows = alloc::vec::Vec::new();
    for from in states() {
        for to in states() {
            if from.may_become(&to) {
                arrows.push((from.name(), to.name()));
            }
        }
    }
    let expected = [
        ("SlowStart", "Default"),
        ("Default", "SlowStart"),
        ("Default", "Competitive"),
        ("Competitive", "SlowStart"),
        ("Competitive", "Default"),
    ];
    assert_eq!(arrows, expected);
}
