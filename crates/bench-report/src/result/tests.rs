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
    insta::assert_snapshot!(fixtures::run().to_json());
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
    for metric in fixtures::metrics() {
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
    let json: Value = serde_json::from_str(&fixtures::run().to_json()).unwrap();
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
    let run = fixtures::run();
    assert_eq!(
        serde_json::from_str::<RunResult>(&run.to_json()).unwrap(),
        run
    );
}

#[test]
fn a_result_of_the_other_kind_is_refused() {
    assert!(serde_json::from_str::<RunResult>(&fixtures::ab().to_json()).is_err());
    assert!(serde_json::from_str::<AbResult>(&fixtures::run().to_json()).is_err());
}

#[test]
fn a_server_is_read_back_and_left_out_where_there_is_none() {
    let result = fixtures::servers();
    let text = result.to_json();
    assert!(text.contains("\"address\": \"localhost:4434\""), "{text}");
    assert_eq!(serde_json::from_str::<AbResult>(&text).unwrap(), result);
    assert_eq!(result.variants[1].sender(), "new");
    let json: Value = serde_json::from_str(&fixtures::ab().to_json()).unwrap();
    assert!(json["variants"][0].get("server").is_none(), "{json}");
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
    assert_eq!(of(Metric::Seconds), None, "time ended the round");
    round.planned_bytes = Some(500_000_000);
    let seconds = Metric::Seconds.of(&round);
    assert_eq!(seconds, Some(round.seconds));
}

#[test]
fn copies_are_sent_and_not_lost() {
    let mut round = fixtures::round("cubic", 0, 1_000_000);
    (round.packets_sent, round.packets_lost) = (Some(1_000), Some(25));
    let once = round.clone();
    round.count_copies(1);
    assert_eq!(round, once);
    round.count_copies(2);
    assert_eq!(
        (round.packets_sent, round.packets_copied),
        (Some(2_000), Some(1_000))
    );
    assert_eq!(Metric::LossRate.of(&round), Metric::LossRate.of(&once));
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

#[test]
fn a_variant_is_called_by_its_controller_or_by_the_axis_that_says_it() {
    let mut cells = fixtures::matrix().cells;
    let name = |cells: &[MatrixCell]| common_senders(cells, 2).remove(1);
    assert_eq!(name(&cells).as_deref(), Some("bbr3"));
    let says = |cells: &mut [MatrixCell], index: usize, cc: &str, copies: u32| {
        cells[index].variants[1].cc = cc.to_owned();
        cells[index].variants[1].duplicate = copies;
        let values = [
            ("challenger", cc.to_owned()),
            ("copies", copies.to_string()),
        ];
        let values = values.map(|(axis, value)| (axis.to_owned(), value));
        cells[index].at.extend(values);
    };
    for index in 0..cells.len() {
        says(&mut cells, index, "bbr3", 2);
    }
    assert_eq!(name(&cells).as_deref(), Some("bbr3 ×2"));
    says(&mut cells, 0, "copa", 2);
    assert_eq!(name(&cells).as_deref(), Some("each challenger ×2"));
    says(&mut cells, 1, "bbr3", 1);
    assert_eq!(
        name(&cells).as_deref(),
        Some("each challenger ×each copies")
    );
    cells[0].variants[1].cc = "cubic".to_owned();
    assert_eq!(name(&cells), None);
}

#[test]
fn variants_that_one_axis_names_alike_are_letters_alone() {
    let mut cells = fixtures::matrix().cells;
    for (index, cell) in cells.iter_mut().enumerate() {
        let cc = if index == 0 { "copa" } else { "bbr3" };
        cell.at.insert("challenger".to_owned(), cc.to_owned());
        cell.variants[1].cc = cc.to_owned();
    }
    let senders = common_senders(&cells, 2);
    assert_eq!(senders[1].as_deref(), Some("each challenger"));
    for cell in &mut cells {
        cell.variants[0].cc = cell.variants[1].cc.clone();
    }
    assert_eq!(common_senders(&cells, 2), [None, None]);
}

#[test]
fn labels_are_as_short_as_tells_variants_apart() {
    let labels = |ccs: &[&str]| {
        let mut result = fixtures::five();
        result.variants.truncate(ccs.len());
        for (variant, cc) in result.variants.iter_mut().zip(ccs) {
            variant.cc = (*cc).to_owned();
        }
        short_labels(&result.variants)
    };
    assert_eq!(labels(&["cubic:hystart=off", "bbr3"]), ["cubic", "bbr3"]);
    let two = ["bbr3:beta=0.7,headroom=10%", "bbr3:beta=0.7,headroom=20%"];
    assert_eq!(labels(&two), ["bbr3:headroom=10%", "bbr3:headroom=20%"]);
    assert_eq!(
        labels(&["bbr3", two[0]]),
        ["bbr3", "bbr3:beta=0.7,headroom=10%"]
    );
    assert_eq!(labels(&["bbr3", "bbr3"]), ["bbr3", "bbr3"]);
    let copied = [
        "bbr3:beta=0.7,headroom=10% ×2",
        two[0],
        two[1],
        "copa:mode=default ×2",
    ];
    assert_eq!(
        short_names(&copied),
        [
            "bbr3:headroom=10% ×2",
            "bbr3:headroom=10%",
            "bbr3:headroom=20%",
            "copa ×2"
        ]
    );
}

#[test]
fn the_columns_of_a_matrix_have_the_parameters_that_differ() {
    let mut cells = fixtures::matrix().cells;
    for variants in cells.iter_mut().map(|cell| &mut cell.variants) {
        variants[0].cc = "bbr3:beta=0.7,headroom=10%".to_owned();
        variants[1].cc = "bbr3:beta=0.7,headroom=20%".to_owned();
    }
    let senders = common_senders(&cells, 2).into_iter().flatten();
    assert_eq!(
        senders.collect::<Vec<_>>(),
        ["bbr3:headroom=10%", "bbr3:headroom=20%"]
    );
}
