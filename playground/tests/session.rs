//! Sessions as a page leads them, natively.

use playground::{FlowSetup, Session, Setup, answer};
use proptest::prelude::*;
use serde_json::{Value, json};

fn setup(link: &str, controllers: &[&str]) -> Setup {
    let flow = |controller: &&str| FlowSetup {
        controller: (*controller).to_owned(),
        start: 0.0,
    };
    Setup {
        link: link.to_owned(),
        return_link: "delay 20ms".to_owned(),
        flows: controllers.iter().map(flow).collect(),
        seed: 1,
        changes: Vec::new(),
    }
}

const LINK: &str = "rate 20mbit delay 20ms queue 1bdp";

fn run(session: &mut Session, seconds: u32) {
    for _ in 0..seconds * 10 {
        session.advance(0.1);
    }
}

#[test]
fn a_link_that_changes_on_the_way_is_the_flows_new_limit() {
    let mut session = Session::open(setup(LINK, &["paceline"])).expect("it is right");
    run(&mut session, 5);
    assert!(session.summaries()[0].goodput_mbit > 17.0);
    let link = "rate 5mbit delay 20ms queue 1bdp";
    session.change_link(link).expect("it is a link");
    run(&mut session, 5);
    let goodput = session.summaries()[0].goodput_mbit;
    assert!((4.0..5.0).contains(&goodput), "{goodput}");
}

#[test]
fn the_setup_of_a_run_that_was_changed_repeats_it() {
    let mut first = Session::open(setup(LINK, &["bbr3", "cubic"])).expect("it is right");
    first.advance(0.73);
    first.step();
    let slower = "rate 5mbit delay 60ms loss 2% queue 2bdp";
    first.change_link(slower).expect("it is a link");
    run(&mut first, 2);
    first.change_link(LINK).expect("it is a link");
    run(&mut first, 1);
    let mut second = Session::open(first.setup().clone()).expect("it was right");
    while second.seconds() < first.seconds() {
        second.advance((first.seconds() - second.seconds()).min(0.5));
    }
    assert_eq!(first.summaries(), second.summaries());
    assert_eq!(first.setup(), second.setup());
}

#[test]
fn what_is_wrong_is_named_and_the_run_goes_on() {
    let mut session = None;
    let mut ask = |request: Value| -> Value {
        let answer = answer(&mut session, &request.to_string());
        serde_json::from_str(&answer).expect("an answer is JSON")
    };
    let error = |answer: Value| answer["error"].as_str().unwrap_or_default().to_owned();
    assert!(error(ask(json!({"step": {}}))).contains("no run"));
    assert!(error(ask(json!({"fly": {}}))).contains("fly"));
    let open = |link: &str, controller: &str, start: f64| {
        json!({"open": {"link": link, "return_link": "", "seed": 1,
            "flows": [{"controller": controller, "start": start}]}})
    };
    assert!(error(ask(open("rate fast", "cubic", 0.0))).contains("fast"));
    assert!(error(ask(open("rate 1mbit queue 1bdp", "cubic", 0.0))).contains("bdp"));
    assert!(error(ask(open("loss 1%", "cubic", 0.0))).contains("no delay"));
    assert!(error(ask(open(LINK, "cubik", 0.0))).contains("cubik"));
    assert!(error(ask(open(LINK, "cubic", -1.0))).contains("-1"));
    assert!(
        error(ask(
            json!({"open": {"link": LINK, "return_link": "", "seed": 1,
        "flows": []}})
        ))
        .contains("0 flows")
    );
    assert_eq!(ask(open(LINK, "cubic", 0.0)), json!({"opened": {}}));
    assert!(error(ask(json!({"link": {"link": "rate -1"}}))).contains("-1"));
    assert!(error(ask(json!({"link": {"link": "rate 1mbit"}}))).contains("no delay"));
    let advanced = ask(json!({"advance": {"seconds": 0.5}}));
    assert_eq!(advanced["advanced"]["seconds"], 0.5);
}

#[test]
fn every_picture_is_there_from_the_first_moment() {
    let mut session = Some(Session::open(setup(LINK, &["cubic", "bbr3"])).expect("it is right"));
    for seconds in [0.0, 0.05, 1.0] {
        let request = json!({"advance": {"seconds": seconds}}).to_string();
        answer(&mut session, &request);
        let figures = answer(&mut session, r#"{"figures": {"flow": 1}}"#);
        let figures: Value = serde_json::from_str(&figures).expect("an answer is JSON");
        let figures = figures["figures"].as_array().expect("a list");
        assert!(figures.len() >= 4);
        let are_pictures = |figure: &Value| {
            let svg = figure["svg"].as_str().unwrap_or_default();
            svg.starts_with("<svg") && !svg.contains("NaN") && !svg.contains("inf")
        };
        assert!(figures.iter().all(are_pictures), "at {seconds} s");
    }
}

#[test]
fn steps_lead_where_time_does() {
    let mut by_step = Session::open(setup(LINK, &["bbr3"])).expect("it is right");
    let mut sent = 0;
    while by_step.seconds() < 0.3 {
        sent += by_step.step().iter().map(|step| step.sent).sum::<u64>();
    }
    let summary = &by_step.summaries()[0];
    assert_eq!(summary.sent, sent);
    let mut by_time = Session::open(setup(LINK, &["bbr3"])).expect("it is right");
    by_time.advance(by_step.seconds());
    assert_eq!(by_time.summaries(), by_step.summaries());
}

proptest! {
    /// Whatever a page's address says, the answer is a run or a sentence.
    #[test]
    fn any_words_make_a_run_or_an_error(
        link in words(), back in words(), controller in controllers(), change in words(),
        start in prop::num::f64::ANY, seconds in prop::num::f64::ANY,
    ) {
        let setup = Setup {
            link,
            return_link: back,
            flows: vec![FlowSetup { controller, start }],
            seed: 1,
            changes: Vec::new(),
        };
        if let Ok(mut session) = Session::open(setup) {
            session.advance(0.2);
            let _is_changed = session.change_link(&change).is_ok();
            session.advance(seconds);
            session.step();
            prop_assert!(session.seconds() <= 3.2);
        }
    }
}

fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "rate",
        "1mbit",
        "20mbit",
        "delay",
        "20ms",
        "0ms",
        "1s",
        "5ms",
        "loss",
        "1%",
        "100%",
        "queue",
        "1bdp",
        "10p",
        "1b",
        "aqm",
        "codel",
        "fq_codel",
        "reorder",
        "25%",
        "duplicate",
        "policer",
        "100kb",
        "at",
        "2s",
        "trace",
        "ge",
        "slot",
        "seed",
        "7",
    ]);
    prop::collection::vec(word, 0..10).prop_map(|words| words.join(" "))
}

fn controllers() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "cubic",
        "bbr3:beta=0.5",
        "paceline",
        "copa:",
        "x",
        "",
        "fixed",
    ])
    .prop_map(str::to_owned)
}
