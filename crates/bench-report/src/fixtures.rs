//! A small result for the tests of this crate, every figure of it chosen by hand.

mod round;
mod run;

pub use round::{finite, interval, round};
pub use run::run;

use crate::result::{
    AbKind, AbResult, ComparedServer, CompetitionRound, Drawn, Finite, MatrixAxis, MatrixCell,
    MatrixDirection, MatrixKind, MatrixResult, MatrixVariant, Metric, SCHEMA_VERSION, Variant,
};
use crate::stats;
use std::collections::BTreeMap;

/// What rounds have that time ends and whose payload is noise: a transfer of a set size has its
/// time as well, and a video its frames.
pub fn metrics() -> impl Iterator<Item = Metric> {
    let round = round("cubic", 0, 1_000_000);
    let all = Metric::ALL.into_iter();
    all.filter(move |metric| metric.of(&round).is_some())
}

/// CUBIC against BBR: three rounds of half a second each, clearly different.
pub fn ab() -> AbResult {
    let mut result = ab_of(
        &[21_300_000, 19_800_000, 24_100_000],
        &[93_900_000, 94_200_000, 94_100_000],
    );
    stats::conclude(&mut result);
    result
}

/// CUBIC against BBR at once: Jain's indices of 0.9, 0.5 and 0.7.
pub fn competition() -> AbResult {
    let mut result = ab();
    let rounds = [0.9, 0.5, 0.7].into_iter().zip(0..);
    let rounds = rounds.map(|(index, block)| CompetitionRound {
        block,
        jain_index: finite(index),
        shares: [("a", 0.2), ("b", 0.8)]
            .map(|(name, share)| (name.to_owned(), finite(share)))
            .into(),
        convergence_seconds: None,
        link_utilisation: Some(finite(0.95)),
    });
    result.competition = stats::competition(rounds.collect(), result.seed);
    result
}

/// Two servers of any stack: only what arrives and the link's queue are known.
pub fn servers() -> AbResult {
    let mut result = ab();
    result.is_virtual = false;
    let servers = [("base", 4433), ("new", 4434)];
    for (variant, (name, port)) in result.variants.iter_mut().zip(servers) {
        variant.cc = "unknown".to_owned();
        variant.server = Some(ComparedServer {
            name: name.to_owned(),
            address: format!("localhost:{port}"),
        });
        for round in &mut variant.rounds {
            round::forget_sender(round);
        }
    }
    stats::conclude(&mut result);
    result
}

/// Five controllers: CUBIC, and four against it.
pub fn five() -> AbResult {
    let mut result = ab();
    let further = [
        variant("c", "bbr1", &[80_000_000, 82_000_000, 81_000_000]),
        variant("d", "new_reno", &[18_000_000, 22_000_000, 21_000_000]),
        variant(
            "e",
            "copa:mode=default",
            &[40_000_000, 90_000_000, 10_000_000],
        ),
    ];
    result.variants.extend(further);
    stats::conclude(&mut result);
    result
}

/// Two variants whose rounds have these goodputs, in bits per second; nothing concluded yet.
pub fn ab_of(a: &[u64], b: &[u64]) -> AbResult {
    AbResult {
        schema_version: SCHEMA_VERSION,
        kind: AbKind::Ab,
        complete: true,
        error: None,
        title: None,
        note: None,
        version: "paceline 0.1.0".to_owned(),
        seed: 7,
        is_virtual: true,
        started_unix_seconds: None,
        link: "delay 40ms loss 1% rate 100mbit queue 1bdp".to_owned(),
        return_link: String::new(),
        link_rate_bits_per_second: Some(100_000_000),
        base_rtt_ms: Some(finite(40.0)),
        round_seconds: Some(finite(0.5)),
        omit_seconds: Some(Finite::ZERO),
        variants: vec![variant("a", "cubic", a), variant("b", "bbr3", b)],
        ..AbResult::default()
    }
}

fn variant(name: &str, cc: &str, goodputs: &[u64]) -> Variant {
    let rounds = goodputs
        .iter()
        .zip(0..)
        .map(|(&goodput, block)| round(cc, block, goodput))
        .collect();
    Variant {
        name: name.to_owned(),
        cc: cc.to_owned(),
        server: None,
        run: None,
        flows: 1,
        start_seconds: Finite::ZERO,
        extra_delay_ms: Finite::ZERO,
        duplicate: 1,
        rounds,
        summary: BTreeMap::new(),
    }
}

/// CUBIC against BBR at three rates of loss and two delays: b better by 2, 4 and 20 times, a by 2
/// times, the same, and unknown.
pub fn matrix() -> MatrixResult {
    let axis = |name: &str, values: &[&str]| MatrixAxis {
        name: name.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    let axes = vec![
        axis("loss", &["0.1%", "1%", "10%"]),
        axis("delay", &["10ms", "100ms"]),
    ];
    let places = axes[0]
        .values
        .iter()
        .flat_map(|loss| axes[1].values.iter().map(move |delay| (loss, delay)));
    let goodputs: [([u64; 3], [u64; 3]); 6] = [
        ([90, 92, 91], [91, 92, 90]),
        ([80, 81, 82], [40, 41, 40]),
        ([40, 41, 42], [82, 80, 81]),
        ([20, 19, 21], [80, 76, 84]),
        ([30, 60, 90], [50, 51, 49]),
        ([4, 4, 4], [80, 80, 80]),
    ];
    let cells = (0..)
        .zip(places)
        .zip(goodputs)
        .map(|((index, (loss, delay)), (a, b))| {
            let megabits = |goodputs: [u64; 3]| goodputs.map(|goodput| goodput * 1_000_000);
            let mut result = ab_of(&megabits(a), &megabits(b));
            stats::conclude(&mut result);
            cell(index, [("loss", loss), ("delay", delay)], result)
        });
    MatrixResult {
        schema_version: SCHEMA_VERSION,
        kind: MatrixKind::Matrix,
        complete: true,
        error: None,
        name: "fixture".to_owned(),
        title: None,
        source: None,
        version: "paceline 0.1.0".to_owned(),
        seed: 7,
        is_virtual: true,
        network: false,
        rounds: 3,
        round_seconds: finite(0.5),
        omit_seconds: Finite::ZERO,
        cells: cells.collect(),
        axes,
        drawn: None,
    }
}

fn cell(index: u32, at: [(&str, &str); 2], result: AbResult) -> MatrixCell {
    let variants = result.variants.into_iter().map(|variant| MatrixVariant {
        name: variant.name,
        cc: variant.cc,
        flows: 1,
        start_seconds: Finite::ZERO,
        extra_delay_ms: Finite::ZERO,
        duplicate: 1,
        summary: variant.summary,
    });
    MatrixCell {
        index,
        at: at
            .map(|(axis, value)| (axis.to_owned(), value.to_owned()))
            .into(),
        seed: 7,
        link: format!("delay {} loss {} rate 100mbit", at[1].1, at[0].1),
        return_link: String::new(),
        link_rate_bits_per_second: Some(100_000_000),
        base_rtt_ms: None,
        direction: MatrixDirection::Forward,
        variants: variants.collect(),
        neighbours: Vec::new(),
        comparison: result.comparison,
        further_comparisons: BTreeMap::new(),
        competition: None,
        error: None,
    }
}

/// Two controllers in three drawn cells: both alone, and each beside CUBIC in the third.
pub fn drawn() -> MatrixResult {
    let mut result = matrix();
    let goodputs: [[u64; 3]; 2] = [[10, 80, 30], [20, 60, 40]];
    let cells = ["cubic", "bbr1"].into_iter().zip(goodputs);
    let cells = cells.flat_map(|(cc, goodputs)| {
        goodputs.into_iter().zip(0..).map(move |(goodput, number)| {
            let rounds = [goodput * 1_000_000; 3];
            let neighbour = [(50 - goodput / 2) * 1_000_000; 3];
            let mut ab = ab_of(&rounds, &neighbour);
            stats::conclude(&mut ab);
            drawn_cell(ab, cc, number)
        })
    });
    result.cells = cells.collect();
    result.cells.sort_by_key(|cell| cell.index);
    let axis = |name: &str, values: &[&str]| MatrixAxis {
        name: name.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    result.axes = vec![
        axis("cell", &["0", "1", "2"]),
        axis("cc", &["cubic", "bbr1"]),
    ];
    result.drawn = Some(Drawn::of_command(Some(
        "bench-client matrix fixture".to_owned(),
    )));
    stats::conclude_drawn(&mut result);
    result
}

fn drawn_cell(result: AbResult, cc: &str, number: u32) -> MatrixCell {
    let mut cell = cell(number, [("cell", &number.to_string()), ("cc", cc)], result);
    cell.link = "delay 20ms rate 100mbit queue 1bdp".to_owned();
    cell.base_rtt_ms = Some(finite(40.0));
    cell.variants[0].cc = cc.to_owned();
    if number == 2 {
        cell.variants[1].cc = "cubic".to_owned();
        cell.neighbours = vec!["b".to_owned()];
    } else {
        cell.variants.truncate(1);
    }
    cell
}
