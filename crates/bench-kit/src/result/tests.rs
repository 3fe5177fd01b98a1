use super::*;
use crate::fixtures::{self, finite};
use serde_json::{Value, json};

#[test]
fn the_json_of_an_ab_test_is_as_recorded() {
    let mut result = fixtures::ab_of(&[21_300_000], &[93_900_000]);
    for variant in &mut result.variants {
        variant.rounds[0].intervals.truncate(1);
    }
    crate::stats::conclude(&mut result);
    insta::assert_snapshot!(result.to_json());
}

#[test]
fn the_json_of_a_run_is_as_recorded() {
    insta::assert_snapshot!(run().to_json());
}

#[test]
fn an_ab_result_has_every_field_of_the_contract() {
    let json: Value = serde_json::from_str(&fixtures::ab().to_json()).unwrap();
    assert_eq!(json["schema_version"], json!(1));
    assert_eq!(json["kind"], json!("ab"));
    assert_fields(
        &json,
        "seed virtual link return_link variants comparison complete",
    );
    let variant = &json["variants"][0];
    assert_fields(variant, "name cc rounds summary");
    for metric in Metric::ALL {
        let name = serde_json::to_value(metric).unwrap();
        let name = name.as_str().unwrap();
        assert_fields(&variant["summary"][name], "median mean low high");
        assert_fields(
            &json["comparison"][name],
            "ratio_b_over_a low high confidence",
        );
        assert_eq!(json["comparison"][name]["confidence"], json!(0.95));
    }
    assert_round(&variant["rounds"][0]);
}

#[test]
fn a_run_has_every_field_of_the_contract_and_those_of_iperf3() {
    let json: Value = serde_json::from_str(&run().to_json()).unwrap();
    assert_eq!(json["kind"], json!("run"));
    assert_fields(&json, "schema_version complete start intervals end result");
    assert_round(&json["result"]);
    assert_fields(
        &json["start"],
        "connected version system_info connecting_to test_start",
    );
    assert_fields(
        &json["start"]["test_start"],
        "protocol num_streams blksize omit duration bytes blocks reverse tos target_bitrate bidir \
         interval",
    );
    assert_fields(
        &json["intervals"][0]["streams"][0],
        "socket start end seconds bytes bits_per_second retransmits snd_cwnd rtt rttvar pmtu \
         omitted sender",
    );
    assert_fields(
        &json["intervals"][0]["sum"],
        "start end seconds bytes bits_per_second retransmits omitted sender",
    );
    assert_fields(
        &json["end"],
        "streams sum_sent sum_received cpu_utilization_percent sender_tcp_congestion",
    );
    assert_fields(&json["end"]["streams"][0], "sender receiver");
    assert_fields(
        &json["end"]["cpu_utilization_percent"],
        "host_total host_user host_system remote_total remote_user remote_system",
    );
}

#[test]
fn what_was_written_is_read_back() {
    let ab = fixtures::ab();
    assert_eq!(serde_json::from_str::<AbResult>(&ab.to_json()).unwrap(), ab);
    let run = run();
    assert_eq!(
        serde_json::from_str::<RunResult>(&run.to_json()).unwrap(),
        run
    );
}

#[test]
fn a_result_of_the_other_kind_is_refused() {
    assert!(serde_json::from_str::<RunResult>(&fixtures::ab().to_json()).is_err());
    assert!(serde_json::from_str::<AbResult>(&run().to_json()).is_err());
}

#[test]
fn metrics_come_from_the_rounds_own_figures() {
    let mut round = fixtures::round("cubic", 0, 160_000_000);
    round.bytes = 500_000_000;
    round.cpu_seconds_sender = Some(finite(2.0));
    (round.packets_sent, round.packets_lost) = (Some(1_000), Some(25));
    let of = |metric: Metric| metric.of(&round).map(Finite::get);
    assert_eq!(of(Metric::GoodputBitsPerSecond), Some(160e6));
    assert_eq!(of(Metric::CpuSecondsPerGigabyteSender), Some(4.0));
    assert_eq!(of(Metric::LossRate), Some(0.025));
    assert_eq!(of(Metric::RttMsP95), Some(42.0));
}

#[test]
fn a_figure_that_is_missing_gives_no_metric() {
    let nothing = Round::default();
    for metric in Metric::ALL {
        let expected = (metric == Metric::GoodputBitsPerSecond).then_some(Finite::ZERO);
        assert_eq!(metric.of(&nothing), expected, "{metric:?}");
    }
    let mut nothing_sent = fixtures::round("cubic", 0, 0);
    nothing_sent.packets_sent = Some(0);
    assert_eq!(Metric::LossRate.of(&nothing_sent), None);
    assert_eq!(Metric::CpuSecondsPerGigabyteSender.of(&nothing_sent), None);
}

#[test]
fn shares_of_the_limits_sum_to_one() {
    let ms = std::time::Duration::from_millis;
    let limited = LimitedBy::from_times(LimitedTimes {
        application: ms(100),
        congestion_window: ms(200),
        pacing: ms(300),
        flow_control: ms(400),
        host: ms(1_000),
    })
    .unwrap();
    assert_eq!(limited.host.get(), 0.5);
    assert_eq!(limited.pacing.get(), 0.15);
    let sum: f64 = [
        limited.application,
        limited.congestion_window,
        limited.pacing,
        limited.flow_control,
        limited.host,
    ]
    .into_iter()
    .map(Finite::get)
    .sum();
    assert!((sum - 1.0).abs() < 1e-12, "{sum}");
    assert_eq!(LimitedBy::from_times(LimitedTimes::default()), None);
}

fn assert_round(round: &Value) {
    assert_fields(
        round,
        "seconds bytes goodput_bits_per_second packets_sent packets_lost bytes_retransmitted \
         rtt_ms queue_delay_ms cpu_seconds_sender cpu_seconds_receiver limited_by intervals \
         congestion error queue_delay_source",
    );
    assert_fields(&round["rtt_ms"], "min p50 p95 p99 max");
    assert_fields(&round["queue_delay_ms"], "p50 p95 p99");
    assert_fields(
        &round["limited_by"],
        "application congestion_window pacing flow_control host",
    );
    assert_fields(
        &round["intervals"][0],
        "t goodput_bits_per_second rtt_ms cwnd_bytes bytes_in_flight pacing_rate_bits_per_second \
         delivery_rate_bits_per_second packets_lost state",
    );
}

fn assert_fields(object: &Value, names: &str) {
    for name in names.split_whitespace() {
        assert!(object.get(name).is_some(), "no field `{name}` in {object}");
    }
}

fn run() -> RunResult {
    let mut result = fixtures::round("bbr3", 0, 94_000_000);
    result.intervals.truncate(1);
    RunResult {
        schema_version: SCHEMA_VERSION,
        kind: RunKind::Run,
        complete: true,
        error: None,
        title: None,
        seed: 7,
        is_virtual: false,
        link: String::new(),
        return_link: String::new(),
        start: start(),
        intervals: vec![iperf::Interval {
            streams: vec![row()],
            sum: sum(),
            ..iperf::Interval::default()
        }],
        end: iperf::End {
            streams: vec![iperf::EndStream {
                sender: row(),
                receiver: row(),
            }],
            sum_sent: sum(),
            sum_received: sum(),
            sender_tcp_congestion: Some("bbr3".to_owned()),
            ..iperf::End::default()
        },
        sha256: None,
        server_output_text: None,
        receiver_socket_drops: None,
        requests: None,
        result,
    }
}

fn start() -> iperf::Start {
    iperf::Start {
        connected: vec![iperf::Connected {
            socket: 1,
            local_host: "127.0.0.1".to_owned(),
            local_port: 40_000,
            remote_host: "127.0.0.1".to_owned(),
            remote_port: 4_433,
        }],
        version: "paceline 0.1.0".to_owned(),
        system_info: "Linux".to_owned(),
        timestamp: None,
        connecting_to: iperf::HostPort {
            host: "127.0.0.1".to_owned(),
            port: 4_433,
        },
        target_bitrate: 0,
        test_start: iperf::TestStart {
            protocol: "QUIC".to_owned(),
            num_streams: 1,
            blksize: 131_072,
            duration: finite(1.0),
            interval: finite(1.0),
            ..iperf::TestStart::default()
        },
    }
}

fn row() -> iperf::Row {
    iperf::Row {
        socket: Some(1),
        snd_cwnd: Some(512_000),
        rtt: Some(40_200),
        rttvar: Some(150),
        pmtu: Some(1_452),
        pacing_rate_bits_per_second: Some(95_000_000),
        state: Some("ProbeBW_CRUISE".to_owned()),
        ..sum()
    }
}

fn sum() -> iperf::Row {
    iperf::Row {
        end: finite(1.0),
        seconds: finite(1.0),
        bytes: 11_750_000,
        bits_per_second: finite(94e6),
        retransmits: Some(3),
        omitted: Some(false),
        sender: true,
        ..iperf::Row::default()
    }
}
