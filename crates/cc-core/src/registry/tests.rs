use super::*;
use crate::observer::{Observer, Snapshot};
use crate::params::{Range, Value};
use crate::{Control, LostPacket, PathState, RateSample};
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain, Timestamp};

const TUNED: ControllerSpec = ControllerSpec {
    name: "tuned",
    aliases: &["t"],
    summary: "a window that a parameter sets",
    params: &[
        ParamSpec {
            name: "window",
            default: Value::Bytes(Bytes::new(12_000)),
            range: Range::Between(
                Value::Bytes(Bytes::new(1_200)),
                Value::Bytes(Bytes::new(1 << 30)),
            ),
            summary: "the window",
            source: "none",
        },
        ParamSpec {
            name: "loss_thresh",
            default: Value::Gain(Gain::percent(2)),
            range: Range::Between(Value::Gain(Gain::ZERO), Value::Gain(Gain::ONE)),
            summary: "unused",
            source: "none",
        },
        ParamSpec {
            name: "slow_start",
            default: Value::Word("standard"),
            range: Range::OneOf(&["standard", "hystartpp"]),
            summary: "unused",
            source: "none",
        },
    ],
    build: |params, _setup| Box::new(Fixed(params.bytes("window"))),
};

#[derive(Debug)]
struct Fixed(Bytes);

impl Controller for Fixed {
    fn on_lost(&mut self, _: &PathState, _: &LostPacket, _: &mut dyn Observer) {}
    fn on_ack(&mut self, _: &PathState, _: &RateSample, _: &mut dyn Observer) {}
    fn control(&self) -> Control {
        Control::unpaced(self.0)
    }
    fn snapshot(&self) -> Snapshot {
        Snapshot::new("tuned", "Fixed", self.control())
    }
}

fn registry() -> Registry {
    let mut registry = Registry::standard();
    registry.register(TUNED);
    registry
}

fn error(text: &str) -> String {
    registry().choose(text).unwrap_err().to_string()
}

#[test]
fn parameters_reach_the_controller_and_the_rest_keep_their_defaults() {
    let choice = registry().choose("t:window=64k,loss_thresh=5%").unwrap();
    let setup = Setup::new(Timestamp::ZERO, Bytes::new(1_200), 1);
    assert_eq!(choice.build(&setup).control().cwnd, Bytes::new(65_536));
    assert_eq!(choice.params.gain("loss_thresh"), Gain::percent(5));
    assert_eq!(choice.params.word("slow_start"), "standard");
}

#[test]
fn display_chooses_the_same_again() {
    for text in [
        "tuned",
        "tuned:window=65536b,slow_start=hystartpp",
        "tuned:loss_thresh=0.05",
    ] {
        let choice = registry().choose(text).unwrap();
        assert_eq!(choice.to_string(), text);
        assert_eq!(
            registry().choose(&choice.to_string()).unwrap().to_string(),
            text
        );
    }
}

#[test]
fn errors_name_the_word_and_the_nearest_right_one() {
    assert!(
        error("tunde").starts_with("`tunde` is not a congestion controller; did you mean `tuned`?")
    );
    assert!(error("tuned:windw=1").contains("did you mean `window`?"));
    assert!(error("tuned:zzz=1").contains("known: window, loss_thresh, slow_start"));
    assert_eq!(
        error("tuned:window"),
        "`window` is not a parameter: expected key=value"
    );
    assert!(error("tuned:window=12q").contains("`12q` is not a size"));
    assert_eq!(
        error("tuned:loss_thresh=200%"),
        "parameter `loss_thresh`: `200%` is not between 0 and 1"
    );
    assert_eq!(
        error("tuned:slow_start=fast"),
        "parameter `slow_start`: `fast` is not one of standard, hystartpp"
    );
}

#[test]
fn a_parameter_that_has_gone_is_answered_with_what_to_choose_instead() {
    let advice = "`ambient_loss` is no longer a parameter of bbr3; take `paceline`, which \
                  separates random loss from congestion";
    for text in [
        "bbr3:ambient_loss=on",
        "bbr:ambient_loss=off",
        "bbr3:loss_thresh=5%,ambient_loss=on",
    ] {
        assert_eq!(error(text), advice);
    }
    assert!(error("bbr2:ambient_loss=on").contains("is not a parameter of bbr2"));
    assert!(error("bbr3:ambient=on").contains("is not a parameter of bbr3"));
}

#[test]
fn retired_parameters_are_gone_from_controllers_that_are_still_there() {
    let registry = Registry::standard();
    for retired in registry.retired {
        let spec = registry.find(retired.controller).unwrap();
        assert!(spec.params.iter().all(|param| param.name != retired.name));
    }
}

#[test]
fn a_controller_that_takes_the_place_of_another_may_have_its_retired_parameters() {
    const OWN: ControllerSpec = ControllerSpec {
        name: "bbr3",
        params: &[ParamSpec::switch("ambient_loss", false)],
        ..TUNED
    };
    let registry = Registry::standard().with(OWN);
    let choice = registry.choose("bbr3:ambient_loss=on").unwrap();
    assert_eq!(choice.to_string(), "bbr3:ambient_loss=on");
}

#[test]
fn every_standard_default_lies_in_its_own_range() {
    for spec in Registry::standard().specs() {
        for param in spec.params {
            let text = param.default.to_string();
            assert_eq!(
                read_value(param, &text),
                Ok(param.default),
                "{}:{}",
                spec.name,
                param.name
            );
        }
    }
}

#[test]
fn names_are_said_once_and_every_parameter_says_what_it_is_and_where_from() {
    let registry = Registry::standard();
    let names = |spec: &SharedSpec| -> Vec<&'static str> {
        spec.aliases.iter().copied().chain([spec.name]).collect()
    };
    let mut all: Vec<&str> = registry.specs().iter().flat_map(names).collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
    for spec in registry.specs() {
        let mut keys: Vec<&str> = spec.params.iter().map(|param| param.name).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), spec.params.len(), "{}", spec.name);
        // A document and its section, a file of somebody's source, or none and why.
        let is_source = |source: &str| {
            [" section ", ".c, ", ".go, "]
                .iter()
                .any(|part| source.contains(part))
                || source.starts_with("none: ")
        };
        let is_described = |p: &ParamSpec| !p.summary.is_empty() && is_source(p.source);
        assert!(spec.params.iter().all(is_described), "{}", spec.name);
    }
}

#[test]
fn a_controller_of_the_same_name_takes_the_place_of_the_former() {
    let mut registry = registry();
    let count = registry.specs().len();
    registry.register(ControllerSpec {
        summary: "another one",
        ..TUNED
    });
    assert_eq!(registry.specs().len(), count);
    let spec = registry.specs().iter().find(|spec| spec.name == "tuned");
    assert_eq!(spec.map(|spec| spec.summary), Some("another one"));
}

#[test]
fn a_round_trip_of_hours_leaves_every_controller_a_byte_a_second() {
    // A packet that left before the host slept, and its ACK.
    let setup = Setup {
        initial_cwnd: Bytes::new(2_400),
        srtt: Some(Duration::from_secs(36_000)),
        ..Setup::new(Timestamp::ZERO, Bytes::new(1_200), 1)
    };
    for spec in Registry::standard().specs() {
        let controller = (spec.build)(&Params::defaults(spec.params), &setup);
        let rate = controller.control().pacing_rate;
        assert!(rate >= Bandwidth::from_bytes_per_sec(1), "{}", spec.name);
    }
}
