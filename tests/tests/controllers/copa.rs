//! Copa over links: what §3 of the paper says of a queue that only it fills, and what §2.2
//! says of company.
//!
//! Payloads are 1,472 bytes and a link carries 1,514 bytes for each; shares are shares of what is
//! then left of its rate. Queues are counted in such packets, without the one in transmission.

use core::time::Duration;
use e2e::sim::{Flow, FlowOutcome, Outcome, Point, Scenario};
use paceline::testing::{Load, Pair, PairConfig, Side};
use units::{Bandwidth, Bytes, Gain, Timestamp};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const FRAME: u64 = 1_514;

/// A link of this rate, with half of the round-trip time on either way.
fn link(rate: &str, rtt: Duration, rest: &str) -> Scenario {
    let delay = units::duration::display(rtt / 2);
    Scenario::new(&format!("rate {rate} delay {delay} {rest}"))
        .return_link(&format!("delay {delay}"))
        .sample_every(MS)
}

/// What a flow delivered between two times, in thousandths of what the link could.
fn permille(flow: &FlowOutcome, rate: &str, from: u32, to: u32) -> u64 {
    let goodput = flow.goodput_between(SECOND * from, SECOND * to);
    let link = rate.parse::<Bandwidth>().expect("a rate") * Gain::new(1_472, FRAME);
    goodput.bytes_per_sec() * 1_000 / link.bytes_per_sec()
}

fn points(flow: &FlowOutcome, from: u32, to: u32) -> impl Iterator<Item = &Point> {
    let [from, to] = [from, to].map(|time| Timestamp::ZERO + SECOND * time);
    let is_within = move |point: &&Point| point.at >= from && point.at < to;
    flow.points.iter().filter(is_within)
}

/// Mean and greatest length of the queue, in tenths of a packet.
fn queue(flow: &FlowOutcome, from: u32, to: u32) -> (u64, u64) {
    let lengths = points(flow, from, to).map(|point| point.queue.get() * 10 / FRAME);
    let (count, sum, most) = lengths.fold((0, 0, 0), |(count, sum, most), length| {
        (count + 1, sum + length, length.max(most))
    });
    (sum / count, most)
}

/// How much of the time a flow competed, in thousandths.
fn competing(flow: &FlowOutcome, from: u32, to: u32) -> u64 {
    let count = points(flow, from, to).count();
    let competing = points(flow, from, to).filter(|point| point.state == "Competitive");
    (competing.count() * 1_000 / count) as u64
}

/// Jain's index of what flows delivered, in thousandths.
fn fairness(outcome: &Outcome, from: u32, to: u32) -> u64 {
    let goodput = |flow: &FlowOutcome| flow.goodput_between(SECOND * from, SECOND * to);
    let rates: Vec<u128> = outcome
        .flows
        .iter()
        .map(|flow| goodput(flow).bytes_per_sec().into())
        .collect();
    let sum: u128 = rates.iter().sum();
    let squares: u128 = rates.iter().map(|rate| rate * rate).sum();
    (sum * sum * 1_000 / (squares * rates.len() as u128)) as u64
}

/// §3: alone a flow swings between an empty queue and one of 2.5 ÷ δ packets, 1.25 ÷ δ on average:
/// 5 and 2.5 packets.
#[test]
fn a_flow_alone_fills_the_link_and_swings_about_two_and_a_half_packets() {
    for (rate, rtt) in [
        ("10mbit", 20),
        ("10mbit", 50),
        ("10mbit", 100),
        ("100mbit", 20),
        ("100mbit", 50),
        ("100mbit", 100),
    ] {
        let scenario = link(rate, MS * rtt, "queue 4bdp").flow(Flow::of("copa"));
        let outcome = scenario.run_for(SECOND * 25);
        let flow = outcome.flow(0);
        let share = permille(flow, rate, 10, 24);
        assert!(share >= 985, "{rate} {rtt} ms: {share}");
        let (mean, most) = queue(flow, 10, 25);
        assert!((20..=40).contains(&mean) && most <= 70, "{mean} {most}");
        assert_eq!(competing(flow, 10, 25), 0, "{rate} {rtt} ms");
        assert_eq!(flow.packets_lost, 0, "{rate} {rtt} ms");
    }
}

#[test]
fn a_smaller_delta_makes_the_queue_longer_in_proportion() {
    for (delta, mean_of, most_of) in [("0.5", 25, 50), ("0.25", 50, 100), ("0.1", 125, 250)] {
        let outcome = link("100mbit", MS * 50, "queue 4bdp")
            .flow(Flow::of(&format!("copa:delta={delta}")))
            .run_for(SECOND * 20);
        let (mean, most) = queue(outcome.flow(0), 10, 20);
        assert!(mean.abs_diff(mean_of) * 3 <= mean_of, "{delta}: {mean}");
        assert!(most * 10 <= most_of * 13, "{delta}: {most}");
    }
}

/// So many flows, a second apart, over 50 Mbit/s and 40 ms.
fn flows_together(flows: u32) -> Outcome {
    let mut scenario = link("50mbit", MS * 40, "queue 4bdp");
    for index in 0..flows {
        scenario = scenario.flow(Flow::of("copa").start(MS * 1_037 * index));
    }
    scenario.run_for(SECOND * 60)
}

#[test]
fn flows_share_fairly_and_their_queue_is_the_sum_of_what_each_wants() {
    for flows in [2, 4] {
        let outcome = flows_together(flows);
        let fairness = fairness(&outcome, 30, 59);
        assert!(fairness >= 990, "{flows}: {fairness}");
        let (mean, most) = queue(outcome.flow(0), 30, 60);
        let flows = u64::from(flows);
        assert!(mean <= 30 * flows && most <= 65 * flows, "{mean} {most}");
    }
}

/// With eight it depends on how they begin whether all of them ever see an empty queue; where they
/// do not, they share the queue that stands as fairly.
#[test]
fn many_flows_share_fairly_whatever_queue_they_leave() {
    let fairness = fairness(&flows_together(8), 30, 59);
    assert!(fairness >= 950, "{fairness}");
}

/// Beside CUBIC in a queue of so many BDPs: how much a flow got between 20 and 60 s, how long it
/// competed meanwhile, and the same from 10 s after CUBIC has left.
fn beside_cubic(controller: &str, rate: &str, bdps: u32) -> [(u64, u64); 2] {
    let outcome = link(rate, MS * 40, &format!("queue {bdps}bdp"))
        .flow(Flow::of(controller))
        .flow(Flow::of("cubic").backlogged_for(SECOND * 60))
        .run_for(SECOND * 90);
    let flow = outcome.flow(0);
    let during = (permille(flow, rate, 20, 60), competing(flow, 20, 60));
    let after = (permille(flow, rate, 70, 89), competing(flow, 70, 90));
    [during, after]
}

#[test]
fn beside_cubic_it_competes_and_afterwards_it_does_not() {
    for (rate, bdps, least) in [
        ("10mbit", 1, 400),
        ("10mbit", 2, 400),
        ("10mbit", 4, 200),
        ("50mbit", 1, 330),
        ("50mbit", 2, 180),
        ("50mbit", 4, 80),
    ] {
        let [during, after] = beside_cubic("copa", rate, bdps);
        assert!(during.0 >= least, "{rate} {bdps}: {}", during.0);
        assert!(during.1 >= 650, "{rate} {bdps}: {}", during.1);
        assert!(after.0 >= 970, "{rate} {bdps}: {}", after.0);
        assert_eq!(after.1, 0, "{rate} {bdps}");
    }
}

#[test]
fn without_its_competitive_mode_it_would_starve_beside_cubic() {
    let [(share, competing), (after, _)] = beside_cubic("copa:mode_switching=off", "50mbit", 1);
    assert!(share <= 50 && competing == 0, "{share} {competing}");
    assert!(after >= 970, "{after}");
}

#[test]
fn random_loss_up_to_five_percent_barely_hurts() {
    for (loss, delivered) in [("0.1%", 999), ("1%", 990), ("3%", 970), ("5%", 950)] {
        for rtt in [20, 40, 100] {
            let outcome = link("50mbit", MS * rtt, &format!("queue 1bdp loss {loss}"))
                .flow(Flow::of("copa"))
                .run_for(SECOND * 30);
            let share = permille(outcome.flow(0), "50mbit", 5, 29);
            assert!(share * 100 >= delivered * 96, "{loss} {rtt} ms: {share}");
        }
    }
}

/// The least goodput and the most losses, in thousandths, over a queue of this length at 40 ms and
/// rates about 50 Mbit/s: a byte more or less decides much where the queue is full all the time.
fn over_short_queue(controller: &str, queue: &str) -> (u64, u64) {
    let over = |rate| {
        let outcome = link(rate, MS * 40, &format!("queue {queue}"))
            .flow(Flow::of(controller))
            .run_for(SECOND * 30);
        let flow = outcome.flow(0);
        let lost = flow.packets_lost * 1_000 / flow.packets_sent;
        (permille(flow, rate, 5, 29), lost)
    };
    let runs = ["46mbit", "48mbit", "50mbit", "52mbit", "54mbit"].map(over);
    let least = runs.iter().map(|(share, _)| *share).min();
    let most = runs.iter().map(|(_, lost)| *lost).max();
    (least.expect("runs"), most.expect("runs"))
}

#[test]
fn a_queue_of_eight_packets_is_enough() {
    for queue in ["8p", "0.1bdp", "0.5bdp"] {
        let (share, lost) = over_short_queue("copa", queue);
        assert!(share >= 990 && lost <= 5, "{queue}: {share} {lost}");
    }
}

/// Two packets never show the delay that says stop. Losing more than a tenth does, and what is
/// left to lose has a price in goodput.
#[test]
fn a_queue_too_short_to_show_a_delay_loses_no_more_than_the_limit() {
    let (share, lost) = over_short_queue("copa", "2p");
    assert!(share >= 170 && lost <= 115, "{share} {lost}");
    let (_, lost) = over_short_queue("copa:loss_limit=30%", "2p");
    assert!((200..=320).contains(&lost), "{lost}");
    // Twenty packets wanted in a queue of five: it settles for fewer.
    let (share, lost) = over_short_queue("copa:delta=0.05", "5p");
    assert!(share >= 450 && lost <= 130, "{share} {lost}");
}

#[test]
fn a_longer_path_is_known_after_the_window_of_rtt_min() {
    let outcome = link("50mbit", MS * 40, "queue 250kb")
        .flow(Flow::of("copa"))
        .change_link(SECOND * 10, "rate 50mbit delay 50ms queue 250kb")
        .run_for(SECOND * 40);
    let flow = outcome.flow(0);
    assert!(permille(flow, "50mbit", 25, 39) >= 970);
    let (mean, _) = queue(flow, 25, 40);
    assert!(mean <= 60, "{mean}");
    assert_eq!(competing(flow, 25, 40), 0);
}

#[test]
fn a_link_that_slows_down_tenfold_is_followed() {
    let outcome = link("50mbit", MS * 40, "queue 250kb")
        .flow(Flow::of("copa"))
        .change_link(SECOND * 10, "rate 5mbit delay 20ms queue 250kb")
        .change_link(SECOND * 30, "rate 50mbit delay 20ms queue 250kb")
        .run_for(SECOND * 50);
    let flow = outcome.flow(0);
    let (slow, fast) = (
        permille(flow, "5mbit", 15, 30),
        permille(flow, "50mbit", 35, 49),
    );
    assert!(slow >= 970 && fast >= 970, "{slow} {fast}");
    let (mean, _) = queue(flow, 15, 30);
    assert!(mean <= 60, "{mean}");
}

fn largest_window(flow: &FlowOutcome) -> Bytes {
    let windows = flow.points.iter().map(|point| point.cwnd);
    windows.max().unwrap_or_default()
}

#[test]
fn a_window_stays_near_what_the_application_or_the_receiver_lets_fly() {
    let ten = Bandwidth::from_bits_per_sec(10_000_000);
    let outcome = link("100mbit", MS * 20, "queue 1bdp")
        .flow(Flow::of("copa").rate(ten, SECOND * 60))
        .run_for(SECOND * 61);
    // 25 kB are in flight.
    let window = largest_window(outcome.flow(0));
    assert!(window <= Bytes::new(100_000), "{window}");
    let outcome = link("100mbit", MS * 20, "queue 1bdp")
        .flow(Flow::of("copa").receive_window(100_000))
        .run_for(SECOND * 30);
    let window = largest_window(outcome.flow(0));
    assert!(window <= Bytes::new(250_000), "{window}");
    assert!(permille(outcome.flow(0), "100mbit", 5, 29) >= 390);
}

#[test]
fn a_minute_of_silence_is_followed_by_no_burst_of_loss() {
    let flow = Flow::of("copa")
        .bytes(5_000_000)
        .pause(SECOND * 60)
        .bytes(2_000_000);
    let outcome = link("100mbit", MS * 20, "queue 1bdp")
        .flow(flow)
        .run_for(SECOND * 70);
    let flow = outcome.flow(0);
    let before = flow.point_at(SECOND * 30);
    assert_eq!(flow.packets_lost, before.packets_lost);
    // The window is what it was, and fills the link from the first round trip on.
    let took = flow.completed_at.unwrap().since(before.at) - SECOND * 30;
    assert!(took <= SECOND * 31, "{took:?}");
}

#[test]
fn a_slow_link_is_not_flooded() {
    let outcome = link("400kbit", MS * 50, "queue 10p")
        .flow(Flow::of("copa"))
        .run_for(SECOND * 60);
    let flow = outcome.flow(0);
    assert!(permille(flow, "400kbit", 5, 59) >= 990);
    assert_eq!(flow.packets_lost, 0);
}

/// Packets of a batch share a stamp there, and round trips are quinn-proto's.
#[test]
fn real_quic_endpoints_do_the_same() {
    for rate in ["10mbit", "100mbit"] {
        let mut config = PairConfig {
            link: format!("rate {rate} delay 20ms queue 500kb")
                .parse()
                .unwrap(),
            return_link: "delay 20ms".parse().unwrap(),
            seed: 1,
            ..PairConfig::default()
        };
        config.client.congestion(e2e::choose("copa"));
        let mut pair = Pair::new(&config).unwrap();
        pair.connect(SECOND * 5).unwrap();
        pair.send(Side::Client, Load::Endless);
        pair.run_for(SECOND * 10);
        let before = pair.link_stats(Side::Client).queue_delay.clone();
        let received = pair.received(Side::Server);
        pair.run_for(SECOND * 10);
        let received = pair.received(Side::Server) - received;
        // 1,418 of 1,494 bytes are a stream's.
        let bound = rate.parse::<Bandwidth>().unwrap() * Gain::new(1_418, 1_494);
        let goodput = Bandwidth::from_transfer(received, SECOND * 10);
        let share = goodput.bytes_per_sec() * 1_000 / bound.bytes_per_sec();
        assert!(share >= 980, "{rate}: {share}");
        let delay = pair.link_stats(Side::Client).queue_delay.since(&before);
        let packet = rate
            .parse::<Bandwidth>()
            .unwrap()
            .time_for(Bytes::new(1_494));
        let longest = delay.quantile(Gain::percent(95));
        assert!(longest <= packet * 7, "{rate}: {longest:?}");
    }
}
