use super::*;
use cc_core::{RateSample, Registry};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

const MSS: Bytes = Bytes::new(1_200);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn congestion(name: &str) -> Congestion {
    let choice = Registry::standard().choose(name).unwrap();
    let mut congestion = Congestion::new(choice, 7);
    congestion.open_path(at(0), MSS);
    congestion
}

fn send(congestion: &mut Congestion, now: Timestamp, bytes: Bytes) {
    congestion.on_sent(0, now, bytes, 0);
}

/// Keeps the samples it is told of.
#[derive(Clone, Default)]
struct Samples(Arc<Mutex<Vec<RateSample>>>);

impl Observer for Samples {
    fn on_event(&mut self, event: &Event) {
        if let Event::Sampled { sample, .. } = event {
            self.0.lock().unwrap().push(*sample);
        }
    }
}

impl Samples {
    fn taken(&self, congestion: &mut Congestion) -> Vec<RateSample> {
        if let Some(mut delivery) = congestion.events.take() {
            delivery.call();
            congestion.events.give_back(delivery);
        }
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[test]
fn the_callbacks_of_one_ack_are_one_feedback() {
    let mut congestion = congestion("new_reno");
    let samples = Samples::default();
    congestion
        .events
        .set_observer(Some(Box::new(samples.clone())));

    send(&mut congestion, at(0), MSS * 5);
    send(&mut congestion, at(1), MSS * 5);

    let acked = [(at(0), MSS * 3), (at(1), MSS * 5)];
    congestion.on_acked(at(40), acked.into_iter(), MSS * 2, Some(9));
    congestion.on_lost(at(40), at(0), MSS * 2, false);
    assert!(
        samples.taken(&mut congestion).is_empty(),
        "the ACK is not complete yet"
    );
    congestion.flush(Some(Duration::from_millis(39)));

    let [sample] = samples.taken(&mut congestion)[..] else {
        panic!("one ACK, one sample")
    };
    assert_eq!(sample.newly_acked, MSS * 8);
    assert_eq!(sample.newly_lost, MSS * 2);
    assert_eq!(sample.newest_sent_at, at(1));
    assert_eq!(sample.rtt, Some(Duration::from_millis(39)));
    assert_eq!(congestion.path_state().inflight, Bytes::ZERO);
    congestion.flush(Some(Duration::from_millis(39)));
    assert!(
        samples.taken(&mut congestion).is_empty(),
        "nothing new was told"
    );
}

#[test]
fn the_peers_delay_is_taken_out_of_the_round_trip_time() {
    let mut congestion = congestion("new_reno");
    let mut smoothed = Duration::from_millis(40);
    for round in 0..20 {
        let (sent, delay) = (at(100 * round), Duration::from_micros(250 * round));
        send(&mut congestion, sent, MSS);
        let true_rtt = Duration::from_millis(40 + round % 3);
        if round > 0 {
            smoothed = (smoothed * 7 + true_rtt) / 8;
        }
        let now = sent + true_rtt + delay;
        congestion.on_acked(now, [(sent, MSS)].into_iter(), Bytes::ZERO, Some(round));
        congestion.flush(Some(smoothed));
        let latest = congestion.path_state().latest_rtt.unwrap();
        let error = latest.abs_diff(true_rtt);
        assert!(
            error <= Duration::from_nanos(8),
            "{latest:?} of {true_rtt:?}"
        );
    }
}

#[test]
fn an_ack_of_older_packets_gives_no_round_trip_time() {
    let mut congestion = congestion("new_reno");
    send(&mut congestion, at(0), MSS);
    send(&mut congestion, at(10), MSS);
    congestion.on_acked(at(50), [(at(10), MSS)].into_iter(), MSS, Some(1));
    congestion.flush(None);
    congestion.on_acked(at(90), [(at(0), MSS)].into_iter(), Bytes::ZERO, Some(1));
    congestion.flush(None);
    let latest = congestion.path_state().latest_rtt;
    assert_eq!(latest, Some(Duration::from_millis(40)));
}

#[test]
fn a_sample_of_quinn_protos_alone_does_not_distort_the_next_one() {
    let mut congestion = congestion("new_reno");
    // Each is 7/8 of the one before and 1/8 of a sample: 80, 40 and 45 ms.
    let smoothed = [80_000, 75_000, 71_250].map(Duration::from_micros);
    send(&mut congestion, at(0), MSS);
    congestion.on_acked(at(80), [(at(0), MSS)].into_iter(), Bytes::ZERO, Some(0));
    congestion.flush(Some(smoothed[0]));
    // The first packet of another number space has the same number: 40 ms.
    send(&mut congestion, at(100), MSS);
    congestion.on_acked(at(140), [(at(100), MSS)].into_iter(), Bytes::ZERO, Some(0));
    congestion.flush(Some(smoothed[1]));
    send(&mut congestion, at(200), MSS);
    congestion.on_acked(at(245), [(at(200), MSS)].into_iter(), Bytes::ZERO, Some(1));
    congestion.flush(Some(smoothed[2]));
    let latest = congestion.path_state().latest_rtt;
    assert_eq!(latest, Some(Duration::from_millis(45)));
}

#[test]
fn quinn_protos_own_reckoning_of_flight_wins() {
    let mut congestion = congestion("new_reno");
    send(&mut congestion, at(0), MSS * 10);
    congestion.on_acked(at(40), [(at(0), MSS)].into_iter(), MSS * 6, Some(0));
    congestion.on_lost(at(40), at(0), MSS, false);
    congestion.flush(None);
    assert_eq!(congestion.path_state().inflight, MSS * 5);
}

#[test]
fn what_left_flight_unreported_is_never_delivered() {
    let mut congestion = congestion("new_reno");
    send(&mut congestion, at(0), MSS * 2);
    send(&mut congestion, at(1), MSS * 2);
    congestion.on_acked(at(40), [].into_iter(), MSS * 2, Some(9));
    let acked = [(at(0), MSS * 2), (at(1), MSS * 2)];
    congestion.on_acked(at(41), acked.into_iter(), Bytes::ZERO, Some(9));
    congestion.flush(None);
    assert_eq!(congestion.path_state().delivered, MSS * 2);
}

#[test]
fn a_new_path_begins_anew_and_the_old_one_can_come_back() {
    let mut congestion = congestion("new_reno");
    send(&mut congestion, at(0), MSS * 10);
    congestion.on_acked(
        at(40),
        [(at(0), MSS * 10)].into_iter(),
        Bytes::ZERO,
        Some(9),
    );
    congestion.flush(None);
    let grown = congestion.control().cwnd;
    assert!(grown > MSS * 10);

    let new = congestion.open_path(at(50), MSS);
    assert_eq!(congestion.control().cwnd, MSS * 10);
    assert_eq!(congestion.path_state().srtt, None);
    congestion.select_path(new);
    assert_eq!(congestion.control().cwnd, MSS * 10);

    congestion.select_path(0);
    assert_eq!(congestion.control().cwnd, grown);
}

#[test]
fn every_path_has_the_controller_that_was_chosen_last() {
    let mut congestion = congestion("new_reno");
    let cubic = Registry::standard().choose("cubic").unwrap();
    congestion.set_choice(at(1), &cubic);
    let new = congestion.open_path(at(2), MSS);
    assert_eq!(congestion.snapshot().algorithm, "cubic");

    let bbr3 = Registry::standard().choose("bbr3").unwrap();
    congestion.set_choice(at(3), &bbr3);
    congestion.select_path(0);
    assert_eq!(congestion.snapshot().algorithm, "bbr3");
    congestion.select_path(new);
    assert_eq!(congestion.snapshot().algorithm, "bbr3");
}

#[test]
fn losses_of_packets_from_another_path_are_harmless() {
    let mut congestion = congestion("new_reno");
    send(&mut congestion, at(0), MSS * 10);
    congestion.open_path(at(50), MSS);
    congestion.on_lost(at(60), at(0), MSS * 10, false);
    congestion.flush(None);
    assert_eq!(congestion.path_state().inflight, Bytes::ZERO);
    assert_eq!(congestion.path_state().lost, Bytes::ZERO);
}

/// A callback of quinn-proto or the driver, with anything for arguments.
#[derive(Debug, Clone)]
enum Call {
    Sent(u64, u64, u64),
    MtuProbe(u64),
    Acked {
        sent: Vec<(u64, u64)>,
        in_flight: u64,
        largest: Option<u64>,
    },
    Lost {
        newest: u64,
        bytes: u64,
        persistent: bool,
    },
    Ce,
    Mtu(u64),
    Flush(Option<u64>),
    AppLimited,
    OpenPath,
    SelectPath(u64),
    SetChoice(bool),
    Wait(u64),
    GiveUp(u64, u64),
}

fn call() -> impl Strategy<Value = Call> {
    let bytes = || prop_oneof![1_u64..100_000, Just(0), Just(10_000_000)];
    let time = 0_u64..100_000;
    prop_oneof![
        4 => (0_u64..6, bytes(), 0_u64..1_000)
            .prop_map(|(path, bytes, number)| Call::Sent(path, bytes, number)),
        1 => bytes().prop_map(Call::MtuProbe),
        4 => (
            prop::collection::vec((time.clone(), bytes()), 0..5),
            bytes(),
            prop::option::of(0_u64..1_000),
        )
            .prop_map(|(sent, in_flight, largest)| Call::Acked { sent, in_flight, largest }),
        2 => (time.clone(), bytes(), any::<bool>())
            .prop_map(|(newest, bytes, persistent)| Call::Lost { newest, bytes, persistent }),
        1 => Just(Call::Ce),
        1 => (1_200_u64..65_000).prop_map(Call::Mtu),
        4 => prop::option::of(time.clone()).prop_map(Call::Flush),
        1 => Just(Call::AppLimited),
        1 => Just(Call::OpenPath),
        1 => (0_u64..6).prop_map(Call::SelectPath),
        1 => any::<bool>().prop_map(Call::SetChoice),
        4 => time.clone().prop_map(Call::Wait),
        2 => (0_u64..5, time).prop_map(|(packets, until)| Call::GiveUp(packets, until)),
    ]
}

fn make(congestion: &mut Congestion, now: &mut Timestamp, call: &Call) {
    let micros = |micros| Timestamp::ZERO + Duration::from_micros(micros);
    let now_is = *now;
    match *call {
        Call::Sent(path, bytes, number) => {
            let _ = congestion.on_sent(path, now_is, Bytes::new(bytes), number);
        }
        Call::MtuProbe(bytes) => drop(congestion.on_mtu_probe_sent(now_is, Bytes::new(bytes))),
        Call::Acked {
            ref sent,
            in_flight,
            largest,
        } => {
            let acked = sent
                .iter()
                .map(|&(sent, bytes)| (micros(sent), Bytes::new(bytes)));
            congestion.on_acked(now_is, acked, Bytes::new(in_flight), largest);
        }
        Call::Lost {
            newest,
            bytes,
            persistent,
        } => {
            congestion.on_lost(now_is, micros(newest), Bytes::new(bytes), persistent);
        }
        Call::Ce => congestion.on_ce_marked(now_is),
        Call::Mtu(mtu) => congestion.on_mtu(Bytes::new(mtu)),
        Call::Flush(smoothed) => drop(congestion.flush(smoothed.map(Duration::from_micros))),
        Call::AppLimited => congestion.on_app_limited(),
        Call::OpenPath => drop(congestion.open_path(now_is, MSS)),
        Call::SelectPath(id) => congestion.select_path(id),
        Call::SetChoice(bbr) => {
            let name = if bbr { "bbr3" } else { "cubic" };
            let choice = Registry::standard().choose(name).unwrap();
            let _ = congestion.set_choice(now_is, &choice);
        }
        Call::Wait(micros) => *now += Duration::from_micros(micros),
        Call::GiveUp(packets, until) => {
            let overdue = congestion.overdue(Some(packets), micros(until));
            assert!(overdue.is_none() || congestion.missing_since().is_some());
            congestion.take_latest_late();
            congestion.correct_time(now_is);
        }
    }
}

#[test]
fn a_packet_that_was_overtaken_tells_how_long_it_took() {
    let mut congestion = congestion("new_reno");
    for number in 0..4 {
        congestion.on_sent(0, at(number), MSS, number);
    }
    let acked = |congestion: &mut Congestion, now, sent, largest| {
        let in_flight = congestion.in_flight().saturating_sub(MSS);
        congestion.on_acked(now, [(sent, MSS)].into_iter(), in_flight, Some(largest));
        let late = congestion.take_latest_late();
        congestion.flush(None);
        late
    };
    assert_eq!(acked(&mut congestion, at(40), at(0), 0), None);
    assert_eq!(acked(&mut congestion, at(43), at(3), 3), None, "overtakes");
    assert_eq!(congestion.missing_since(), Some(at(1)));
    let late = acked(&mut congestion, at(60), at(1), 3);
    assert_eq!(late, Some(Duration::from_millis(59)));
    assert_eq!(congestion.missing_since(), Some(at(2)));
    let smoothed = Duration::from_millis(30);
    let rtt = congestion.conservative_rtt(smoothed);
    assert_eq!(
        rtt,
        Duration::from_millis(40),
        "of the packet that overtook"
    );
}

#[test]
fn the_rest_of_a_batch_is_not_late() {
    let mut congestion = congestion("new_reno");
    congestion.on_sent(0, at(0), MSS * 4, 3);
    for (now, largest) in [(40, 1), (41, 3)] {
        let in_flight = congestion.in_flight().saturating_sub(MSS * 2);
        let acked = [(at(0), MSS * 2)].into_iter();
        congestion.on_acked(at(now), acked, in_flight, Some(largest));
        congestion.flush(None);
    }
    assert_eq!(congestion.take_latest_late(), None);
}

#[test]
fn losses_told_ahead_of_time_are_told_to_the_controller_at_the_true_one() {
    let mut congestion = congestion("new_reno");
    send(&mut congestion, at(0), MSS * 5);
    congestion.on_lost(at(90), at(0), MSS, false);
    congestion.correct_time(at(50));
    congestion.flush(None);
    assert_eq!(congestion.path_state().now, at(50));
}

proptest! {
    #[test]
    fn no_order_of_callbacks_breaks_it(
        name in prop_oneof![Just("new_reno"), Just("cubic"), Just("bbr3")],
        calls in prop::collection::vec(call(), 0..200),
    ) {
        let mut congestion = congestion(name);
        let mut now = at(0);
        for call in &calls {
            make(&mut congestion, &mut now, call);
            prop_assert!(!congestion.control().cwnd.is_zero());
        }
    }
}
