use super::*;

#[test]
fn a_mark_is_never_undone() {
    for controller in BOTH {
        // The mark began the period.
        let mut driver = avoiding(controller);
        driver.mark();
        let reduced = driver.cwnd();
        let lost = driver.lose(1);
        driver.arrive_late(&lost);
        assert_eq!(driver.cwnd(), reduced, "{controller}");
        // A loss did, and the mark makes it final.
        let mut driver = avoiding(controller);
        let lost = driver.lose(1);
        driver.mark();
        let reduced = driver.cwnd();
        driver.arrive_late(&lost);
        assert_eq!(driver.cwnd(), reduced, "{controller}");
    }
}

#[test]
fn a_reduction_is_undone_when_every_lost_packet_arrives_after_all() {
    for mut driver in drivers() {
        fly_20(&mut driver);
        let lost = driver.lose(3);
        driver.arrive_late(&lost[..2]);
        assert_eq!(driver.state(), "Recovery");
        driver.arrive_late(&lost[2..]);
        assert_eq!((driver.packets(), driver.state()), (20, "SlowStart"));
        // A loss from the same flight that is real still counts.
        driver.lose(1);
        assert!(driver.packets() < 20);
    }
}

#[test]
fn an_undo_brings_back_the_whole_first_slow_start() {
    let mut driver = FlowDriver::new("cubic");
    for _ in 0..3 {
        driver.round(MS * 40);
    }
    driver.fly(MS * 40);
    let lost = driver.lose(1);
    driver.arrive_late(&lost);
    driver.finish_round(MS);
    driver.round(MS * 60);
    assert_eq!(driver.state(), "ConservativeSlowStart");
}

#[test]
fn nothing_is_undone_where_that_is_turned_off() {
    for controller in BOTH {
        let mut driver = FlowDriver::new(&alloc::format!("{controller}:undo=off"));
        driver.fly(MS * 100);
        let lost = driver.lose(1);
        let reduced = driver.cwnd();
        driver.arrive_late(&lost);
        assert_eq!(driver.cwnd(), reduced);
    }
}

#[test]
fn a_window_that_has_outgrown_the_one_before_is_kept() {
    for controller in BOTH {
        let mut driver = avoiding(controller);
        let before = driver.cwnd();
        let lost = driver.lose(1);
        driver.ack(driver.flying.len());
        driver.now += MS;
        while driver.cwnd() <= before {
            driver.round(MS * 100);
        }
        let grown = driver.cwnd();
        driver.arrive_late(&lost);
        assert_eq!(driver.cwnd(), grown, "{controller}");
    }
}

#[test]
fn time_between_a_reduction_and_its_undo_does_not_count() {
    let mut driver = avoiding("cubic");
    let before = driver.cwnd();
    let lost = driver.lose(1);
    driver.now += MS * 60_000;
    driver.arrive_late(&lost);
    assert_eq!(driver.cwnd(), before);
    let acked = [driver.flying.pop_front().unwrap()];
    driver.tell(&Feedback {
        acked: &acked,
        ..Feedback::at(driver.now)
    });
    // A minute on the curve would bring half a packet for this one.
    let grown = driver.cwnd() - before;
    assert!(grown < Bytes::new(50), "{grown}");
}
