use super::*;
use crate::registry::Registry;
use crate::tests::flow_driver::{FlowDriver, MS, MSS};
use units::Timestamp;

/// One sample is believed at once: each round of these tests has one ACK.
const LEDBAT_PP: &str = "ledbat_pp:delay_filter=1";

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Fills the window; one ACK for all of it comes `millis` later.
fn round(driver: &mut FlowDriver, millis: u32) {
    driver.fill();
    let packets = driver.flow.path_state().inflight.packets_floor(MSS);
    driver.now += MS * millis;
    driver.ack(packets as usize);
}

/// A single packet, acknowledged `millis` later.
fn send_one(driver: &mut FlowDriver, millis: u32) {
    driver.send(1);
    driver.now += MS * millis;
    driver.ack(1);
}

fn rounds(driver: &mut FlowDriver, count: u32, millis: u32) {
    (0..count).for_each(|_| round(driver, millis));
}

/// In congestion avoidance at 410 ms with 9 packets: the base delay of 120 ms is twice the
/// target, so GAIN is 1, and the third round saw 50 ms of queue.
fn avoiding(controller: &str) -> FlowDriver {
    let mut driver = FlowDriver::new(controller);
    rounds(&mut driver, 2, 120);
    round(&mut driver, 170);
    assert_eq!((driver.now, driver.packets()), (at(410), 9));
    assert_eq!(driver.states.0, ["CongestionAvoidance"]);
    driver
}

/// In the initial slowdown from 750 ms on, with 10 packets before.
fn slowed_down() -> FlowDriver {
    let mut driver = avoiding(LEDBAT_PP);
    rounds(&mut driver, 2, 170);
    assert_eq!((driver.now, driver.packets()), (at(750), 2));
    assert_eq!(driver.state(), "Slowdown");
    driver
}

/// In the ramp up after it, from 1,110 ms on, with 4 packets.
fn ramping_up() -> FlowDriver {
    let mut driver = slowed_down();
    rounds(&mut driver, 3, 120);
    assert_eq!((driver.now, driver.packets()), (at(1_110), 4));
    assert_eq!(driver.state(), "RampUp");
    driver
}

/// After the initial slowdown, at 1,350 ms.
fn ramped_up() -> FlowDriver {
    let mut driver = ramping_up();
    rounds(&mut driver, 2, 120);
    assert_eq!((driver.now, driver.packets()), (at(1_350), 10));
    assert_eq!(driver.state(), "CongestionAvoidance");
    driver
}

fn ssthresh(driver: &FlowDriver) -> Option<u64> {
    let ssthresh = driver.flow.snapshot().ssthresh;
    ssthresh.map(|ssthresh| ssthresh.packets_floor(MSS))
}

#[test]
fn it_begins_with_two_packets_and_grows_by_the_gain() {
    let mut driver = FlowDriver::new(LEDBAT_PP);
    assert_eq!(driver.packets(), 2);
    // 120 ÷ 40: a third of what was acknowledged.
    round(&mut driver, 40);
    assert_eq!(driver.cwnd().get(), 2_666);
    assert_eq!(driver.flow.snapshot().min_rtt, Some(MS * 40));
}

#[test]
fn slow_start_goes_no_further_than_twice_what_has_flown() {
    // At 120 ms GAIN is 1.
    let mut driver = FlowDriver::new("ledbat_pp:delay_filter=1,initial_window=10");
    round(&mut driver, 120);
    driver.send(5);
    driver.finish_round(MS * 120);
    assert_eq!(driver.packets(), 20);
}

#[test]
fn slow_start_ends_beyond_three_quarters_of_the_target() {
    let mut driver = FlowDriver::new(LEDBAT_PP);
    round(&mut driver, 120);
    round(&mut driver, 165);
    assert_eq!((driver.state(), driver.packets()), ("SlowStart", 8));
    round(&mut driver, 166);
    // That round brought a packet, as congestion avoidance does.
    assert_eq!(
        (driver.state(), driver.packets()),
        ("CongestionAvoidance", 9)
    );
}

#[test]
fn a_longer_queue_is_given_way_to_by_up_to_half() {
    let mut driver = avoiding(LEDBAT_PP);
    // 6 ms more than the target are a tenth of it: 9,000 − 900 + 1,000 bytes.
    round(&mut driver, 186);
    assert_eq!(driver.cwnd().get(), 9_100);
    round(&mut driver, 1_000);
    assert_eq!(driver.cwnd().get(), 2_000);
    assert_eq!(driver.state(), "Slowdown");
    let mut driver = avoiding("ledbat_pp:delay_filter=1,slowdown=off");
    round(&mut driver, 1_000);
    assert_eq!(driver.cwnd().get(), 4_500);
}

#[test]
fn the_initial_slowdown_comes_two_round_trips_after_slow_start() {
    // srtt is 126.25 ms at 410 ms, so it is due at 662.5 ms; the ACK after that is at 750.
    let driver = slowed_down();
    assert_eq!(ssthresh(&driver), Some(10));
    assert!(driver.flow.path_state().is_app_limited);
}

#[test]
fn the_minimum_window_is_kept_for_two_round_trips_as_they_were() {
    // srtt is 136.5 ms at 750 ms: until 1,023 ms.
    let mut driver = slowed_down();
    rounds(&mut driver, 2, 120);
    assert_eq!((driver.now, driver.packets()), (at(990), 2));
    assert_eq!(driver.state(), "Slowdown");
    round(&mut driver, 120);
    assert_eq!(driver.state(), "RampUp");
}

#[test]
fn the_next_slowdown_comes_after_nine_times_the_last_one() {
    let mut driver = ramped_up();
    // It took from 750 to 1,350 ms; 1,350 + 9 · 600 = 6,750.
    rounds(&mut driver, 44, 120);
    assert_eq!(
        (driver.now, driver.state()),
        (at(6_630), "CongestionAvoidance")
    );
    round(&mut driver, 120);
    assert_eq!(driver.state(), "Slowdown");
    assert_eq!(ssthresh(&driver), Some(54));
}

#[test]
fn without_slowdowns_it_stays_in_congestion_avoidance() {
    let mut driver = avoiding("ledbat_pp:delay_filter=1,slowdown=off");
    rounds(&mut driver, 100, 130);
    assert_eq!(driver.states.0, ["CongestionAvoidance"]);
}

#[test]
fn a_window_that_is_not_filled_neither_grows_nor_slows_down() {
    let mut driver = ramped_up();
    (0..100).for_each(|_| send_one(&mut driver, 120));
    // The round that was full before the first of these, and the one after, still count.
    assert!(driver.packets() <= 11, "{}", driver.packets());
    assert_eq!(driver.state(), "CongestionAvoidance");
}

#[test]
fn a_gap_is_the_slowdown_that_was_due() {
    let mut driver = ramped_up();
    driver.now = at(60_000);
    // Due at 6,750 ms; now again 5,400 ms after the gap.
    rounds(&mut driver, 44, 120);
    assert_eq!(
        (driver.now, driver.state()),
        (at(65_280), "CongestionAvoidance")
    );
    round(&mut driver, 120);
    assert_eq!(driver.state(), "Slowdown");
}

#[test]
fn a_pause_in_a_slowdown_is_no_part_of_its_cost() {
    let mut driver = ramping_up();
    driver.now += MS * 30_000;
    rounds(&mut driver, 2, 120);
    assert_eq!((driver.now, driver.packets()), (at(31_350), 10));
    // As without the pause, 5,400 ms.
    rounds(&mut driver, 44, 120);
    assert_eq!(driver.state(), "CongestionAvoidance");
    round(&mut driver, 120);
    assert_eq!((driver.now, driver.state()), (at(36_750), "Slowdown"));
}

#[test]
fn neither_is_the_time_in_which_the_application_sends_little() {
    let mut driver = ramping_up();
    round(&mut driver, 120);
    (0..10).for_each(|_| send_one(&mut driver, 120));
    round(&mut driver, 120);
    assert_eq!((driver.now, driver.packets()), (at(2_550), 10));
    rounds(&mut driver, 45, 120);
    assert_eq!((driver.now, driver.state()), (at(7_950), "Slowdown"));
}

#[test]
fn a_ramp_that_waits_for_the_application_ends_where_others_make_a_queue() {
    let mut driver = ramping_up();
    rounds(&mut driver, 1, 120);
    assert_eq!(driver.packets(), 8);
    (0..10).for_each(|_| send_one(&mut driver, 120));
    send_one(&mut driver, 180);
    assert_eq!(driver.state(), "RampUp");
    send_one(&mut driver, 181);
    assert_eq!(driver.state(), "CongestionAvoidance");
}

#[test]
fn loss_halves_the_window_once_in_a_round_trip() {
    let mut driver = ramped_up();
    driver.fly(MS * 120);
    driver.lose(1);
    assert_eq!(driver.packets(), 5);
    driver.lose(2);
    driver.ack(7);
    assert_eq!(driver.packets(), 5);
    driver.now += MS;
    round(&mut driver, 120);
    assert_eq!(driver.packets(), 6);
}

#[test]
fn a_mark_is_a_loss() {
    let mut driver = ramped_up();
    driver.fly(MS * 120);
    driver.mark();
    assert_eq!(driver.packets(), 5);
}

#[test]
fn loss_ends_slow_start_and_the_initial_slowdown_follows() {
    let mut driver = FlowDriver::new(LEDBAT_PP);
    rounds(&mut driver, 2, 120);
    driver.fly(MS * 120);
    driver.lose(1);
    assert_eq!(
        (driver.state(), driver.packets()),
        ("CongestionAvoidance", 4)
    );
    driver.ack(7);
    driver.now += MS;
    rounds(&mut driver, 2, 120);
    assert_eq!(driver.states.0, ["CongestionAvoidance", "Slowdown"]);
}

#[test]
fn what_is_lost_in_a_slowdown_halves_the_window_of_before() {
    let mut driver = avoiding(LEDBAT_PP);
    round(&mut driver, 170);
    driver.fly(MS * 170);
    driver.ack(5);
    assert_eq!((driver.state(), ssthresh(&driver)), ("Slowdown", Some(10)));
    let lost = driver.lose(5);
    assert_eq!((driver.packets(), ssthresh(&driver)), (2, Some(5)));
    driver.arrive_late(&lost);
    assert_eq!((driver.packets(), ssthresh(&driver)), (2, Some(10)));
}

#[test]
fn loss_ends_a_ramp_up() {
    let mut driver = ramping_up();
    round(&mut driver, 120);
    driver.fly(MS * 120);
    driver.lose(1);
    assert_eq!(
        (driver.state(), driver.packets()),
        ("CongestionAvoidance", 4)
    );
}

#[test]
fn a_reduction_is_undone_when_everything_arrives_after_all() {
    let spurious = |controller| {
        let mut driver = avoiding(controller);
        driver.fly(MS * 120);
        let lost = driver.lose(2);
        driver.arrive_late(&lost[..1]);
        let one_missing = driver.cwnd().get();
        driver.arrive_late(&lost[1..]);
        (one_missing, driver.cwnd().get())
    };
    assert_eq!(spurious(LEDBAT_PP), (4_500, 9_000));
    assert_eq!(
        spurious("ledbat_pp:delay_filter=1,undo=off"),
        (4_500, 4_500)
    );
}

#[test]
fn an_undo_goes_on_with_the_slow_start_that_the_loss_ended() {
    let mut start = FlowDriver::new(LEDBAT_PP);
    rounds(&mut start, 2, 120);
    for (mut driver, state) in [(start, "SlowStart"), (ramping_up(), "RampUp")] {
        let before = driver.packets();
        driver.fly(MS * 120);
        let lost = driver.lose(1);
        assert_eq!(driver.state(), "CongestionAvoidance");
        driver.arrive_late(&lost[..1]);
        assert_eq!((driver.state(), driver.packets()), (state, before));
    }
}

#[test]
fn persistent_congestion_begins_anew_up_to_half_of_the_window() {
    let mut driver = ramped_up();
    driver.fly(MS * 5_000);
    driver.collapse();
    assert_eq!((driver.state(), driver.packets()), ("SlowStart", 2));
    assert_eq!(ssthresh(&driver), Some(5));
    assert_eq!(driver.flow.snapshot().min_rtt, None);
    rounds(&mut driver, 2, 300);
    assert_eq!(
        (driver.state(), driver.packets()),
        ("CongestionAvoidance", 5)
    );
    assert_eq!(driver.flow.snapshot().min_rtt, Some(MS * 300));
}

#[test]
fn a_running_connection_keeps_its_window() {
    let mut driver = FlowDriver::new("new_reno");
    rounds(&mut driver, 3, 120);
    let before = driver.cwnd();
    let choice = Registry::standard().choose("ledbat_pp").unwrap();
    let now = driver.now;
    driver
        .flow
        .change_controller(now, |setup| choice.build(setup));
    assert_eq!((driver.state(), driver.cwnd()), ("SlowStart", before));
}

#[test]
fn larger_packets_raise_the_minimum() {
    let mut driver = FlowDriver::new(LEDBAT_PP);
    driver.flow.on_mtu(driver.now, Bytes::new(9_000));
    assert_eq!(driver.cwnd().get(), 18_000);
}

#[test]
#[should_panic(expected = "Slowdown may not follow SlowStart")]
fn a_transition_that_the_diagram_lacks_is_refused() {
    let mut state = State::SlowStart { ssthresh: MSS };
    let slowdown = State::Slowdown {
        ssthresh: MSS,
        until: Timestamp::ZERO,
        duration: SlowdownDuration::new(Timestamp::ZERO),
    };
    let mut context = EventContext {
        path: &PathState::new(Timestamp::ZERO, MSS),
        observer: &mut (),
    };
    context.transition(&mut state, slowdown);
}

#[test]
fn an_undo_keeps_a_window_that_has_outgrown_the_one_before() {
    let mut driver = avoiding("ledbat_pp:delay_filter=1,slowdown=off");
    driver.fly(MS * 120);
    let lost = driver.lose(1);
    driver.ack(driver.flying.len());
    driver.now += MS;
    while driver.packets() < 10 {
        round(&mut driver, 120);
    }
    let grown = driver.cwnd();
    driver.arrive_late(&lost);
    assert_eq!(driver.cwnd(), grown);
}
