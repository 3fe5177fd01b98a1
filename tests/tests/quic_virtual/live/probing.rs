//! Sources that stay below their hint, and the padding beside them.

#[path = "../../../../crates/transport/examples/probing.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod example;

use super::{MS, SECOND, mbit};
use crate::plan_over;
use e2e::choose;
use example::{BEYOND, MAX_RATE, Outcome, RATE, Scenario, WITHIN, scenarios};
use paceline::cc_core::Registry;
use paceline::testing::{Ends, Load, World};
use std::time::Duration;
use units::Bandwidth;

/// What becomes of a scenario, with padding and without, under each controller that is registered.
fn each(scenario: Scenario, mut check: impl FnMut(&str, &Outcome, &Outcome)) {
    let plain = Scenario {
        target: None,
        ..scenario
    };
    for spec in Registry::standard().specs() {
        let run = |scenario: &Scenario| scenario.run(spec.name).expect("a scenario that runs");
        check(spec.name, &run(&scenario), &run(&plain));
    }
}

#[test]
fn every_controller_comes_to_a_target_that_the_path_carries() {
    each(Scenario::up_to(WITHIN), |controller, probing, _| {
        let [least, mean, _] = probing.hints_of(0);
        assert!(mean >= mbit(8.2), "{controller}: {mean}");
        assert!(least >= mbit(8.0), "{controller}: {least}");
        let [first, later] = probing.padding;
        assert!(
            later <= first / 2,
            "{controller}: {later} once it was reached"
        );
    });
}

/// The target is above the link's rate, so that attempts go on.
#[test]
fn padding_costs_no_losses_and_little_queue() {
    each(Scenario::up_to(BEYOND), |controller, probing, plain| {
        let [_, _, most] = probing.hints_of(0);
        assert!(most <= mbit(9.1), "{controller}: {most} of a link of 10");
        assert_eq!(probing.lost, 0, "{controller}");
        let [_, longest] = probing.queue;
        assert!(longest <= MS * 35, "{controller}: {longest:?}");
        let latest = plain.latest.max(MS * 100);
        assert!(
            probing.latest <= latest + MS * 5,
            "{controller}: {:?}",
            probing.latest
        );
    });
}

/// Both take what the link carries for their own, and pad up to it at one time.
#[test]
fn two_that_probe_at_one_time_find_it_out_before_packets_are_lost() {
    let [.., (_, two), _] = scenarios();
    assert_eq!(two.sources, 2);
    each(two, |controller, probing, _| {
        assert_eq!(probing.lost, 0, "{controller}");
        // It holds 120 ms.
        let [_, longest] = probing.queue;
        assert!(longest <= MS * 80, "{controller}: {longest:?}");
        for source in 0..2 {
            let [least, ..] = probing.hints_of(source);
            assert!(least >= mbit(6.0), "{controller}: {least}");
        }
    });
}

/// Of 20 s, in which a rate of 2 Mbit/s leaves room for 0.7 of the greatest hint.
#[test]
fn nothing_is_sent_to_learn_of_more_than_the_application_would_send() {
    let [.., (_, limited)] = scenarios();
    assert_eq!(limited.max_rate, Some(MAX_RATE));
    each(limited, |controller, probing, _| {
        let [_, _, most] = probing.hints_of(0);
        assert!(most <= MAX_RATE, "{controller}: {most}");
        let is_at_most = most >= mbit(2.69);
        let [_, padding] = probing.padding;
        assert!(
            !is_at_most || padding <= 40,
            "{controller}: {padding} packets"
        );
    });
}

/// A connection that sends [`RATE`] on a stream, in frames.
fn source(world: &mut World, takes_datagrams: bool) -> Ends {
    let mut plan = plan_over(world, example::LINK);
    plan.client.congestion(choose("bbr3"));
    if !takes_datagrams {
        plan.server.datagram_receive_buffer_size(None);
    }
    plan.client_load = Some(Load::Every {
        bytes: (RATE * FRAME).get(),
        interval: FRAME,
    });
    let ends = world.add_connection(&plan);
    // It exists from the first moment on.
    world.run_until(MS);
    ends
}

fn padding(world: &World, ends: Ends) -> u64 {
    world.stats(ends.client).datagrams.padding
}

#[test]
fn a_peer_that_takes_no_datagrams_gets_no_padding() {
    for takes_datagrams in [true, false] {
        let mut world = World::new(1);
        let ends = source(&mut world, takes_datagrams);
        world.probe_up_to(ends.client, Some(BEYOND));
        world.run_until(SECOND * 10);
        assert_eq!(padding(&world, ends) > 0, takes_datagrams);
        let sent = world.stats(ends.client).frame_tx.datagram;
        assert_eq!(sent > 0, takes_datagrams, "{sent}");
        let received = world.received(ends.server).get();
        assert!(received >= 2_300_000, "{received}");
        assert_eq!(world.error(ends.client), None);
    }
}

/// Packets of padding of 20 s in which `before` is done before each frame.
fn padding_where(mut before: impl FnMut(&mut World, Ends, u32)) -> u64 {
    let mut world = World::new(1);
    let ends = source(&mut world, true);
    for frame in 0..600 {
        before(&mut world, ends, frame);
        world.run_until(FRAME * (frame + 1));
    }
    padding(&world, ends)
}

#[test]
fn who_asks_again_and_again_gets_no_more_padding() {
    let probe = |target: fn(u32) -> Option<Bandwidth>| {
        padding_where(|world, ends, frame| world.probe_up_to(ends.client, target(frame)))
    };
    let once = padding_where(|world, ends, frame| {
        if frame == 0 {
            world.probe_up_to(ends.client, Some(BEYOND));
        }
    });
    assert!(once > 1_000, "{once}");
    let with_each_frame = probe(|_| Some(BEYOND));
    assert!(
        with_each_frame.abs_diff(once) <= once / 10,
        "{with_each_frame}, {once}"
    );
    let rising = probe(|frame| Some(BEYOND + Bandwidth::from_bits_per_sec(frame.into())));
    assert!(rising.abs_diff(once) <= once / 10, "{rising}, {once}");
    let toggled = probe(|frame| (frame % 2 == 0).then_some(BEYOND));
    assert!(toggled <= once, "{toggled}, {once}");
}

#[test]
fn a_connection_that_sends_nothing_does_not_pad() {
    let mut world = World::new(1);
    let plan = plan_over(&mut world, example::LINK);
    let ends = world.add_connection(&plan);
    world.run_until(MS);
    let mut target = Some(BEYOND);
    let mut toggle = |world: &mut World| {
        world.probe_up_to(ends.client, target);
        target = target.xor(Some(BEYOND));
    };
    // In the handshake, while it is idle, and after its end.
    for at in 1..60 {
        toggle(&mut world);
        world.run_until(MS * at);
    }
    world.run_until(SECOND);
    let sent = world.stats(ends.client).udp_tx.datagrams;
    for _ in 0..100 {
        toggle(&mut world);
        world.run_for(MS * 3);
    }
    assert_eq!(world.stats(ends.client).udp_tx.datagrams, sent);
    world.close(ends.client);
    for _ in 0..100 {
        toggle(&mut world);
        world.run_for(MS * 3);
    }
    assert_eq!(padding(&world, ends), 0);
    assert!(world.stats(ends.client).udp_tx.datagrams <= sent + 2);
}

/// Also where it ends in the middle of an attempt.
#[test]
fn a_closed_connection_does_not_pad() {
    let mut world = World::new(1);
    let ends = source(&mut world, true);
    world.probe_up_to(ends.client, Some(BEYOND));
    world.run_until(SECOND * 3);
    assert!(padding(&world, ends) > 0);
    world.close(ends.client);
    let padded = padding(&world, ends);
    // What waits already is dropped when its time is over.
    let queued = |world: &World| world.stats(ends.client).datagrams.queued;
    let mut before = queued(&world);
    for _ in 0..150 {
        world.run_for(MS);
        assert!(queued(&world) <= before);
        before = queued(&world);
    }
    // What was on its way to it is answered.
    world.run_for(MS * 200);
    let sent = world.stats(ends.client).udp_tx.datagrams;
    for target in [None, Some(BEYOND)] {
        world.probe_up_to(ends.client, target);
        world.run_for(SECOND);
    }
    let after = world.stats(ends.client);
    assert_eq!(after.datagrams.padding, padded);
    assert_eq!(after.datagrams.queued, 0);
    assert_eq!(after.udp_tx.datagrams, sent);
}

const FRAME: Duration = Duration::from_nanos(33_333_333);
