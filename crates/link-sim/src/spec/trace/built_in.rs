/// A trace that is known by name, from `scenarios/traces`.
///
/// The files begin with their source and its licence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltInTrace {
    /// What stands behind `trace`, such as `nepal-wifi`.
    pub name: &'static str,
    /// The file, as [`RateTrace`](crate::RateTrace) or [`DelayTrace`](crate::DelayTrace) reads it.
    pub text: &'static str,
}

/// Every trace that is known by name, in alphabetical order.
pub fn built_in_traces() -> impl Iterator<Item = BuiltInTrace> {
    BUILT_IN.into_iter()
}

pub(super) fn built_in_text(name: &str) -> Option<&'static str> {
    let known = built_in_traces().find(|trace| trace.name == name);
    known.map(|trace| trace.text)
}

/// The names, for people.
pub(in crate::spec) fn known_traces() -> String {
    BUILT_IN.map(|trace| trace.name).join(", ")
}

macro_rules! built_in {
    ($name:literal) => {
        BuiltInTrace {
            name: $name,
            text: include_str!(concat!("../../../scenarios/traces/", $name, ".trace")),
        }
    };
}

const BUILT_IN: [BuiltInTrace; 16] = [
    built_in!("0.12mbps"),
    built_in!("10-every-200"),
    built_in!("108mbps"),
    built_in!("12mbps"),
    built_in!("60mbps"),
    built_in!("cellular"),
    built_in!("china-wired"),
    built_in!("colombia-cellular"),
    built_in!("india-wired"),
    built_in!("indigo-5.65mbps"),
    built_in!("indigo-6.25mbps"),
    built_in!("mexico-cellular"),
    built_in!("mexico-wired"),
    built_in!("nepal-wifi"),
    built_in!("starlink"),
    built_in!("starlink-delay"),
];
