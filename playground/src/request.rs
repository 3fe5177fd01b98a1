//! What the page asks, and the answers, as JSON.

use super::figures::figures;
use super::session::{FlowSummary, Session, Step};
use super::setup::{MAX_FLOWS, Setup};
use bench_report::plot;
use cc_core::Registry;
use link_sim::LINK_WORDS;
use serde::{Deserialize, Serialize};

/// One question of the page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// What there is to choose from.
    Describe {},
    /// A new run in the place of the present one.
    Open(Setup),
    /// So many seconds more.
    Advance {
        /// Up to 1.
        seconds: f64,
    },
    /// On to the next packet.
    Step {},
    /// Another link for the data.
    Link {
        /// In netem's words.
        link: String,
    },
    /// The pictures of the run so far.
    Figures {
        /// The flow whose states are shown, from 0.
        flow: usize,
    },
    /// What each flow has reached.
    Flows {},
    /// What repeats this run, with the changes of the link so far.
    Setup {},
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Error(String),
    Described(Description),
    Opened {},
    Advanced {
        seconds: f64,
        may_go_on: bool,
    },
    Stepped {
        seconds: f64,
        steps: Vec<Step>,
    },
    Changed {},
    Figures(Vec<Named>),
    Flows {
        seconds: f64,
        flows: Vec<FlowSummary>,
    },
    Setup(Setup),
}

#[derive(Serialize)]
struct Named {
    name: &'static str,
    svg: String,
}

#[derive(Serialize)]
struct Description {
    controllers: Vec<Described>,
    link_words: Vec<Described>,
    max_flows: usize,
    /// The style sheet of the pictures.
    style: String,
}

#[derive(Serialize)]
struct Described {
    name: String,
    about: String,
}

/// Answers the request that `text` is, about the run in `session`.
pub fn answer(session: &mut Option<Session>, text: &str) -> String {
    let answer = match serde_json::from_str(text) {
        Ok(request) => respond(session, request),
        Err(error) => Answer::Error(format!("no request: {error}")),
    };
    serde_json::to_string(&answer).unwrap_or_default()
}

fn respond(session: &mut Option<Session>, request: Request) -> Answer {
    match request {
        Request::Describe {} => return Answer::Described(describe()),
        Request::Open(setup) => {
            return match Session::open(setup) {
                Ok(opened) => {
                    *session = Some(opened);
                    Answer::Opened {}
                }
                Err(error) => Answer::Error(error),
            };
        }
        _ => {}
    }
    let Some(session) = session else {
        return Answer::Error("there is no run; open one first".to_owned());
    };
    match request {
        Request::Describe {} | Request::Open(_) => unreachable!("answered above"),
        Request::Advance { seconds } => {
            let may_go_on = session.advance(seconds);
            let seconds = session.seconds();
            Answer::Advanced { seconds, may_go_on }
        }
        Request::Step {} => {
            let steps = session.step();
            let seconds = session.seconds();
            Answer::Stepped { seconds, steps }
        }
        Request::Link { link } => match session.change_link(&link) {
            Ok(()) => Answer::Changed {},
            Err(error) => Answer::Error(error),
        },
        Request::Figures { flow } => {
            let figures = figures(session, flow).into_iter();
            Answer::Figures(figures.map(|(name, svg)| Named { name, svg }).collect())
        }
        Request::Flows {} => Answer::Flows {
            seconds: session.seconds(),
            flows: session.summaries(),
        },
        Request::Setup {} => Answer::Setup(session.setup().clone()),
    }
}

fn describe() -> Description {
    let registry = Registry::standard();
    let controllers = registry.specs().iter().map(|spec| Described {
        name: spec.name.to_owned(),
        about: spec.summary.to_owned(),
    });
    let words = LINK_WORDS.iter().map(|word| Described {
        name: word.form.to_owned(),
        about: word.meaning.to_owned(),
    });
    Description {
        controllers: controllers.collect(),
        link_words: words.collect(),
        max_flows: MAX_FLOWS,
        style: plot::stylesheet() + &plot::chips(),
    }
}
