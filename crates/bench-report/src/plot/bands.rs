use super::bounds::MAX_POINTS;
use super::figure::RIGHT;
use super::svg::{Anchor, Svg, fitting, text_width};
use crate::result::Round;

/// A stretch of time in one state of the controller, in seconds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Band {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) state: usize,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Bands {
    pub(super) bands: Vec<Band>,
    /// Each state once, with its class, the known ones in their usual order.
    pub(super) states: Vec<(String, String)>,
}

impl Bands {
    /// Neighbouring intervals of one state make one band. A round of more than [`MAX_POINTS`]
    /// intervals is sampled: its shortest bands would be thinner than a pixel.
    pub(super) fn of(round: &Round) -> Self {
        let names = names(round);
        let stride = round.intervals.len().div_ceil(MAX_POINTS).max(1);
        let mut bands: Vec<Band> = Vec::new();
        for group in round.intervals.chunks(stride) {
            let (first, last) = (&group[0], &group[group.len() - 1]);
            let Some(name) = &last.state else { continue };
            let (from, to) = (first.t.get() - first.seconds.get(), last.t.get());
            let known = names.iter().position(|other| other == name);
            let state = known.unwrap_or_else(|| names.len() - 1);
            match bands.last_mut() {
                // The interval begins where the band ends, to a millisecond.
                Some(band) if band.state == state && from - band.to < 1e-3 => band.to = to,
                _ => bands.push(Band { from, to, state }),
            }
        }
        Self {
            bands,
            states: with_classes(names),
        }
    }

    /// All but those of the state that the round is in most of the time: behind lines that one is
    /// left white, so that the others stand out.
    pub(super) fn unusual(&self) -> impl Iterator<Item = &Band> {
        let time_in = |state: usize| {
            let bands = self.bands.iter().filter(|band| band.state == state);
            bands.map(|band| band.to - band.from).sum::<f64>()
        };
        let states = 0..self.states.len();
        let usual = states.max_by(|a, b| time_in(*a).total_cmp(&time_in(*b)));
        let bands = self.bands.iter();
        bands.filter(move |band| Some(band.state) != usual)
    }

    /// The legend: a swatch and a name per state, three to a row when the names are short. Returns
    /// its height.
    pub(super) fn legend(&self, svg: &mut Svg, top: f64) -> f64 {
        let widths = self.states.iter().map(|(name, _)| text_width(name));
        let widest = widths.fold(0.0, f64::max);
        let columns = if widest > LEGEND_WIDTH / 3.0 - SWATCH {
            2
        } else {
            3
        };
        let column = LEGEND_WIDTH / columns as f64;
        for (index, (name, class)) in self.states.iter().enumerate() {
            let x = RIGHT - LEGEND_WIDTH + column * (index % columns) as f64;
            let y = top + LEGEND_ROW * (index / columns) as f64;
            svg.key(class, |svg| {
                svg.rect(class, (x, y + 2.0), (10.0, 10.0));
                let name = fitting(name, column - SWATCH);
                svg.text("label", (x + 14.0, y + 10.5), Anchor::Start, &name);
            });
        }
        LEGEND_ROW * self.states.len().div_ceil(columns) as f64
    }
}

/// Each state of the round once, the known ones in their usual order, then the others by name;
/// with too many to tell apart the last is [`THE_REST`].
fn names(round: &Round) -> Vec<String> {
    let states = round
        .intervals
        .iter()
        .filter_map(|interval| interval.state.as_deref());
    let mut names: Vec<&str> = states.collect();
    names.sort_by_key(|name| (place(name).unwrap_or(KNOWN.len()), *name));
    names.dedup();
    if names.len() > MAX_STATES {
        names.truncate(MAX_STATES - 1);
        names.push(THE_REST);
    }
    names.into_iter().map(str::to_owned).collect()
}

/// Known states have the same colour in every figure; the others take the free ones in turn.
fn with_classes(names: Vec<String>) -> Vec<(String, String)> {
    let mut others = (0..FREE_COLOURS).cycle();
    let class = |name: &str| match place(name) {
        Some(place) => format!("state-{}", KNOWN[place].1),
        None => format!("state-other-{}", others.next().expect("a cycle has no end")),
    };
    let classes: Vec<String> = names.iter().map(String::as_str).map(class).collect();
    names.into_iter().zip(classes).collect()
}

fn place(name: &str) -> Option<usize> {
    KNOWN.iter().position(|(known, _)| *known == name)
}

/// The states of the controllers that come with this project, with the class of their colour:
/// what searches is warm, what drains or recovers yellow or pink, what cruises green.
pub(super) const KNOWN: [(&str, &str); 10] = [
    ("SlowStart", "startup"),
    ("Startup", "startup"),
    ("Drain", "drain"),
    ("ProbeBW_DOWN", "down"),
    ("ProbeBW_CRUISE", "cruise"),
    ("ProbeBW_REFILL", "refill"),
    ("ProbeBW_UP", "up"),
    ("ProbeRTT", "probe-rtt"),
    ("CongestionAvoidance", "cruise"),
    ("Recovery", "recovery"),
];

/// How many classes `other-0`, `other-1`, … the style sheet has.
pub(super) const FREE_COLOURS: usize = 4;

const MAX_STATES: usize = 12;
const THE_REST: &str = "all others";
const LEGEND_ROW: f64 = 15.0;
const LEGEND_WIDTH: f64 = 400.0;
/// What the coloured square of an entry and the gap behind its name take.
const SWATCH: f64 = 18.0;
