//! A report of each kind, from short tests in virtual time and from results made awkward.

use bench_client::Registry;
use bench_report::report;
use bench_report::result::{
    AbResult, AnyResult, BaselineComparison, Finite, MatrixAxis, MatrixCell, MatrixDirection,
    MatrixKind, MatrixResult, MatrixVariant, Quantity, SCHEMA_VERSION, StoppingRule,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A report in a file.
pub(crate) struct Page {
    pub(crate) name: &'static str,
    pub(crate) file: PathBuf,
}

/// Where this test writes.
pub(crate) fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chromium");
    std::fs::create_dir_all(&folder).expect("cargo's folder for tests is writable");
    folder
}

pub(crate) fn all() -> Vec<Page> {
    let two = ab("two", &["-t", "4", "--rounds", "3"]);
    let also = ["--also", "bbr1", "--also", "new_reno", "--also", "copa"];
    let five = ab("five", &[&["-t", "2", "--rounds", "2"], &also[..]].concat());
    let one = ab("one", &["-t", "2", "--rounds", "1"]);
    let link = ["--link", "delay 20ms rate 20mbit queue 1bdp"];
    let staggered = [
        "--stagger",
        "2",
        "--also",
        "cubic",
        "--a",
        "cubic",
        "--b",
        "cubic",
    ];
    let compete = [
        &["--compete", "-t", "8", "--rounds", "2"],
        &link[..],
        &staggered,
    ]
    .concat();
    let compete = ab("compete", &compete);
    let matrix = matrix(&two);
    let saved = [("cubic and its challenger", &two), ("yesterday", &one)].map(|(name, result)| {
        let (name, result) = (name.to_owned(), result.clone());
        report::Saved {
            name,
            result,
            is_idle: false,
        }
    });
    let saved = report::saved_html(&saved, None, Some("Measured on two days."));
    vec![
        page("two variants", report::html(&two)),
        page("five variants", report::html(&five)),
        page("one round", report::html(&one)),
        page("decided", report::html(&decided(two.clone()))),
        page("competition", report::html(&compete)),
        page("hostile of five", report::html(&hostile(five))),
        page("hostile", report::html(&hostile(two.clone()))),
        page("nothing", report::html(&nothing(two))),
        page("matrix", report::matrix_html(&matrix)),
        page(
            "unfinished matrix",
            report::matrix_html(&unfinished(matrix)),
        ),
        run("run", &["-C", "bbr3"]),
        run("requests", &["--ping=20ms"]),
        run("loaded", &["--bidir", "-P", "4", "--ping=20ms"]),
        run("datagrams", &["-u", "-b", "2M", "-P", "2"]),
        page("saved", saved),
    ]
}

/// A report to point at, and its rounds as CSV.
pub(crate) struct Pointed {
    pub(crate) file: PathBuf,
    pub(crate) csv: String,
}

pub(crate) fn pointed_at(name: &'static str) -> Pointed {
    let result = ab(name, &["--b", "bbr3", "-t", "4", "--rounds", "3"]);
    Pointed {
        file: page(name, report::html(&result)).file,
        csv: bench_report::csv::rounds(&result),
    }
}

fn page(name: &'static str, html: String) -> Page {
    let file = folder().join(name).with_extension("html");
    std::fs::write(&file, html).expect("the folder is writable");
    Page { name, file }
}

fn ab(name: &str, plan: &[&str]) -> AbResult {
    let json = folder().join(name).with_extension("json");
    let line = ["bench-client", "ab", "--virtual", "--no-report", "--json"];
    let line = line.into_iter().map(OsString::from);
    let args = line
        .chain([json.clone().into()])
        .chain(plan.iter().map(Into::into));
    assert_eq!(
        bench_client::main_with(&Registry::standard(), args),
        ExitCode::SUCCESS
    );
    let text = std::fs::read_to_string(json).expect("the result was written");
    match AnyResult::from_json(&text) {
        Ok(AnyResult::Ab(result)) => *result,
        other => panic!("{other:?}"),
    }
}

/// Interrupted, with words in every place that a user or a peer fills.
fn hostile(mut result: AbResult) -> AbResult {
    let word = "\"'></title></style><script>alert(1)</script>&amp;".repeat(2);
    let long = "AStateWithAVeryLongNameWithoutASpace".repeat(4);
    (result.complete, result.error) = (false, Some(format!("interrupted {word}")));
    (result.title, result.link) = (Some(word.clone()), format!("delay 40ms {word}"));
    for variant in &mut result.variants {
        variant.cc = format!("{long}:{word}");
        variant.rounds.truncate(2);
        variant.rounds[0].error = Some(word.clone());
        for (index, interval) in variant.rounds[1].intervals.iter_mut().enumerate() {
            interval.state = Some(format!("{long}{}", index % 20));
            let rate = 2_f64.powi(index as i32 % 60);
            interval.sender.set(Quantity::PacingRate, Finite::new(rate));
            if index % 9 <= 2 {
                interval.sender.set(Quantity::SmoothedRtt, None);
            }
        }
    }
    result
}

/// Over a network, until its intervals were narrow, against an earlier test.
fn decided(mut result: AbResult) -> AbResult {
    result.server = Some("[2001:db8::1]:4433".to_owned());
    result.until = Some(StoppingRule {
        half_width: Finite::ONE,
        reached: true,
    });
    result.baseline = Some(BaselineComparison {
        paired: false,
        comparisons: ["a", "b"]
            .map(|name| (name.to_owned(), result.comparison.clone()))
            .into(),
    });
    result
}

/// Ended before its first round.
fn nothing(mut result: AbResult) -> AbResult {
    (result.complete, result.error) = (false, Some("interrupted".to_owned()));
    result.comparison.clear();
    for variant in &mut result.variants {
        variant.rounds.clear();
        variant.summary.clear();
    }
    result
}

/// Three axes; the figures of a cell are those of `result`, more and more apart.
fn matrix(result: &AbResult) -> MatrixResult {
    let values = [
        (
            "loss",
            ["0.01%", "0.1%", "1%", "3%", "10%", "30%"].as_slice(),
        ),
        ("buffer", &["0.1bdp", "1bdp", "16bdp"]),
        (
            "cross traffic with a long name",
            &["none", "delay 20ms aqm fq_codel limit 1000"],
        ),
    ];
    let axes = values.map(|(name, values)| MatrixAxis {
        name: name.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    });
    let mut places = vec![BTreeMap::new()];
    for axis in &axes {
        let with = |place: &BTreeMap<_, _>, value: &String| {
            let mut place = place.clone();
            place.insert(axis.name.clone(), value.clone());
            place
        };
        let longer = places
            .iter()
            .flat_map(|place| axis.values.iter().map(move |v| with(place, v)));
        places = longer.collect();
    }
    let cells = (0..).zip(places).map(|(index, at)| cell(result, index, at));
    MatrixResult {
        schema_version: SCHEMA_VERSION,
        kind: MatrixKind::Matrix,
        complete: true,
        error: None,
        name: "picture".to_owned(),
        title: None,
        source: None,
        version: result.version.clone(),
        seed: 1,
        is_virtual: true,
        network: false,
        rounds: 3,
        round_seconds: Finite::ONE,
        omit_seconds: Finite::ONE,
        cells: cells.collect(),
        axes: axes.into(),
        drawn: None,
    }
}

fn cell(result: &AbResult, index: u32, at: BTreeMap<String, String>) -> MatrixCell {
    let variants = result.variants.iter().zip([1.0, 1.0 + f64::from(index)]);
    let variants = variants.map(|(variant, factor)| {
        let mut summary = variant.summary.clone();
        for summary in summary.values_mut() {
            let scaled = |value: Finite| Finite::new(value.get() * factor);
            summary.median = scaled(summary.median).expect("it is finite");
            summary.low = summary.low.and_then(scaled);
            summary.high = summary.high.and_then(scaled);
        }
        MatrixVariant {
            name: variant.name.clone(),
            cc: variant.cc.clone(),
            flows: 1,
            start_seconds: Finite::ZERO,
            extra_delay_ms: Finite::ZERO,
            duplicate: 1,
            summary,
        }
    });
    MatrixCell {
        index,
        at,
        seed: 1,
        link: result.link.clone(),
        return_link: String::new(),
        link_rate_bits_per_second: result.link_rate_bits_per_second,
        base_rtt_ms: result.base_rtt_ms,
        direction: MatrixDirection::Forward,
        variants: variants.collect(),
        neighbours: Vec::new(),
        comparison: BTreeMap::new(),
        further_comparisons: BTreeMap::new(),
        competition: None,
        error: None,
    }
}

fn unfinished(mut result: MatrixResult) -> MatrixResult {
    (result.complete, result.error) = (false, Some("interrupted".to_owned()));
    result.cells.truncate(3);
    result.cells[1].error = Some("the connection was lost <script>".repeat(3));
    result.axes.truncate(2);
    result
}

/// A second over loopback, through an emulated link.
fn run(name: &'static str, more: &[&str]) -> Page {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback has a free port");
    let port = socket.local_addr().expect("it is bound").port().to_string();
    drop(socket);
    let server = ["bench-server", "-1", "-B", "127.0.0.1", "-p", &port].map(OsString::from);
    let server = std::thread::spawn(|| bench_server::main_with(&Registry::standard(), server));
    let file = folder().join(name).with_extension("html");
    let plan = [
        "127.0.0.1",
        "-p",
        &port,
        "-t",
        "1",
        "--link",
        "delay 20ms rate 20mbit",
    ];
    let line = ["bench-client", "run"]
        .into_iter()
        .chain(plan)
        .chain(more.iter().copied())
        .chain(["--report"]);
    let args = line.map(OsString::from).chain([file.clone().into()]);
    assert_eq!(
        bench_client::main_with(&Registry::standard(), args),
        ExitCode::SUCCESS
    );
    let ended = server.join().expect("a server does not panic");
    assert_eq!(ended, ExitCode::SUCCESS);
    Page { name, file }
}
