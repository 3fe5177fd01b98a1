//! Controllers by name: `NAME` or `NAME:key=value,key=value`.

use crate::controller::{Controller, Setup};
use crate::params::{ParamSpec, Params, read_value};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};

/// How a kind of controller is called, tuned and made.
///
/// `B` makes the controllers: a function, which a `const` can hold, or a closure, by which the
/// controllers of a program can share state ([`SharedSpec`]).
///
/// ```
/// # use cc_core::{Control, Controller, LostPacket, Observer, PathState, RateSample, Snapshot};
/// use cc_core::{ControllerSpec, ParamSpec, Registry};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// # #[derive(Debug)]
/// # struct Mine(u64);
/// # impl Controller for Mine {
/// #     fn on_lost(&mut self, _: &PathState, _: &LostPacket, _: &mut dyn Observer) {}
/// #     fn on_ack(&mut self, _: &PathState, _: &RateSample, _: &mut dyn Observer) {}
/// #     fn control(&self) -> Control { Control::unpaced(units::Bytes::new(self.0)) }
/// #     fn snapshot(&self) -> Snapshot { Snapshot::new("mine", "", self.control()) }
/// # }
///
/// const MINE: ControllerSpec = ControllerSpec::new("mine", "a window", |params, setup| {
///     Box::new(Mine(params.count("packets") * setup.mss.get()))
/// })
/// .params(&[ParamSpec::count("packets", 10, 2..=1_000).summary("the window")]);
///
/// let count = Arc::new(AtomicU64::new(0));
/// let ours = ControllerSpec::sharing("ours", "a window each", move |_, setup| {
///     let others = count.fetch_add(1, Ordering::Relaxed);
///     Box::new(Mine(setup.initial_cwnd.get() / (1 + others)))
/// });
/// let registry = Registry::standard().with(MINE).with(ours);
/// assert_eq!(registry.choose("mine:packets=20")?.to_string(), "mine:packets=20");
/// # Ok::<(), cc_core::ChooseError>(())
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ControllerSpec<B = fn(&Params, &Setup) -> Box<dyn Controller>> {
    /// The name to choose it by, in lower case.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// What it is, in a line, with its specification.
    pub summary: &'static str,
    /// What can be tuned.
    pub params: &'static [ParamSpec],
    /// Makes one. The parameters have been checked against `params`.
    pub build: B,
}

/// A spec whose controllers are made by a closure.
pub type SharedSpec = ControllerSpec<SharedBuild>;

type SharedBuild = Arc<dyn Fn(&Params, &Setup) -> Box<dyn Controller> + Send + Sync>;

impl ControllerSpec {
    /// Controllers that `build` makes, with nothing to tune and no other names.
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        build: fn(&Params, &Setup) -> Box<dyn Controller>,
    ) -> Self {
        Self::untuned(name, summary, build)
    }
}

impl SharedSpec {
    /// As [`ControllerSpec::new`] with a closure, which may be called for several connections at
    /// once.
    pub fn sharing(
        name: &'static str,
        summary: &'static str,
        build: impl Fn(&Params, &Setup) -> Box<dyn Controller> + Send + Sync + 'static,
    ) -> Self {
        Self::untuned(name, summary, Arc::new(build))
    }
}

impl<B> ControllerSpec<B> {
    const fn untuned(name: &'static str, summary: &'static str, build: B) -> Self {
        Self {
            name,
            aliases: &[],
            summary,
            params: &[],
            build,
        }
    }

    /// The same with these other names.
    #[must_use]
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// The same with these parameters.
    #[must_use]
    pub const fn params(mut self, params: &'static [ParamSpec]) -> Self {
        self.params = params;
        self
    }
}

impl From<ControllerSpec> for SharedSpec {
    fn from(spec: ControllerSpec) -> Self {
        Self::sharing(spec.name, spec.summary, spec.build)
            .aliases(spec.aliases)
            .params(spec.params)
    }
}

impl<B> fmt::Debug for ControllerSpec<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerSpec")
            .field("name", &self.name)
            .field("aliases", &self.aliases)
            .field("summary", &self.summary)
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

// What a closure of somebody's leaves behind when it panics is its own affair: it is only called.
impl UnwindSafe for SharedSpec {}
impl RefUnwindSafe for SharedSpec {}

/// A controller that has been chosen and tuned; makes one per connection.
///
/// `Display` gives a string that chooses the same again.
#[derive(Debug, Clone)]
pub struct ControllerChoice {
    spec: SharedSpec,
    params: Params,
}

impl ControllerChoice {
    /// A controller for one connection.
    pub fn build(&self, setup: &Setup) -> Box<dyn Controller> {
        (self.spec.build)(&self.params, setup)
    }

    /// The registry name, without parameters.
    pub fn name(&self) -> &'static str {
        self.spec.name
    }
}

impl fmt::Display for ControllerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec.name)?;
        let mut separator = ':';
        for (spec, value) in self.params.specs.iter().zip(&self.params.values) {
            if *value != spec.default {
                write!(f, "{separator}{}={value}", spec.name)?;
                separator = ',';
            }
        }
        Ok(())
    }
}

/// A parameter that a controller no longer has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RetiredParam {
    /// The controller that had it.
    pub(crate) controller: &'static str,
    /// The key.
    pub(crate) name: &'static str,
    /// What to choose instead, as an imperative clause.
    pub(crate) advice: &'static str,
}

/// The names that can be chosen.
#[derive(Debug, Clone)]
pub struct Registry {
    specs: Vec<SharedSpec>,
    retired: &'static [RetiredParam],
}

impl Registry {
    pub(crate) fn of(specs: &[ControllerSpec], retired: &'static [RetiredParam]) -> Self {
        Self {
            specs: specs.iter().copied().map(SharedSpec::from).collect(),
            retired,
        }
    }

    /// Adds a controller. One of the same name is replaced.
    pub fn register(&mut self, spec: impl Into<SharedSpec>) {
        let spec = spec.into();
        self.specs.retain(|known| known.name != spec.name);
        self.specs.push(spec);
    }

    /// The same with one controller more; see [`register`](Self::register).
    #[must_use]
    pub fn with(mut self, spec: impl Into<SharedSpec>) -> Self {
        self.register(spec);
        self
    }

    /// What can be chosen, in order of registration.
    pub fn specs(&self) -> &[SharedSpec] {
        &self.specs
    }

    /// The controller that `text` names: `NAME` or `NAME:key=value,key=value`.
    ///
    /// # Errors
    /// Names the word that is wrong, what could stand there, and the nearest right word.
    pub fn choose(&self, text: &str) -> Result<ControllerChoice, ChooseError> {
        let (name, assignments) = text.split_once(':').unwrap_or((text, ""));
        let spec = self.find(name)?.clone();
        let mut params = Params::defaults(spec.params);
        for assignment in assignments.split(',').filter(|part| !part.is_empty()) {
            let (key, value) =
                assignment
                    .split_once('=')
                    .ok_or_else(|| ChooseError::NotAnAssignment {
                        word: assignment.to_string(),
                    })?;
            let index = spec
                .params
                .iter()
                .position(|param| param.name == key)
                .ok_or_else(|| self.no_param(&spec, key))?;
            params.values[index] =
                read_value(&spec.params[index], value).map_err(|error| ChooseError::BadValue {
                    param: spec.params[index].name,
                    error,
                })?;
        }
        Ok(ControllerChoice { spec, params })
    }

    /// Why `spec` has no parameter `key`.
    fn no_param(&self, spec: &SharedSpec, key: &str) -> ChooseError {
        let mut retired = self.retired.iter();
        match retired.find(|param| param.controller == spec.name && param.name == key) {
            Some(param) => ChooseError::RetiredParam {
                controller: spec.name,
                param: param.name,
                advice: param.advice,
            },
            None => ChooseError::unknown_param(spec.name, key, spec.params.iter().map(|p| p.name)),
        }
    }

    fn find(&self, name: &str) -> Result<&SharedSpec, ChooseError> {
        let is_named = |spec: &&SharedSpec| spec.name == name || spec.aliases.contains(&name);
        self.specs.iter().find(is_named).ok_or_else(|| {
            let names = || self.specs.iter().map(|spec| spec.name);
            let all = self
                .specs
                .iter()
                .flat_map(|spec| spec.aliases)
                .copied()
                .chain(names());
            ChooseError::UnknownController {
                word: name.to_string(),
                nearest: units::nearest(name, all).map(ToString::to_string),
                known: names().collect::<Vec<_>>().join(", "),
            }
        })
    }
}

/// Why a string chooses no controller.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChooseError {
    /// No controller has this name.
    UnknownController {
        /// The name.
        word: String,
        /// A name that is spelt much like it.
        nearest: Option<String>,
        /// All names.
        known: String,
    },
    /// The controller has no such parameter.
    UnknownParam {
        /// The controller.
        controller: &'static str,
        /// The key.
        word: String,
        /// A key that is spelt much like it.
        nearest: Option<String>,
        /// All keys of the controller.
        known: String,
    },
    /// The controller has this parameter no longer.
    RetiredParam {
        /// The controller.
        controller: &'static str,
        /// The key.
        param: &'static str,
        /// What to choose instead.
        advice: &'static str,
    },
    /// A part of the parameter list is not `key=value`.
    NotAnAssignment {
        /// The part.
        word: String,
    },
    /// A value is of the wrong kind or out of range.
    BadValue {
        /// The key.
        param: &'static str,
        /// The value, and what it is not.
        error: String,
    },
}

impl ChooseError {
    fn unknown_param(
        controller: &'static str,
        word: &str,
        known: impl Iterator<Item = &'static str> + Clone,
    ) -> Self {
        Self::UnknownParam {
            controller,
            word: word.to_string(),
            nearest: units::nearest(word, known.clone()).map(ToString::to_string),
            known: known.collect::<Vec<_>>().join(", "),
        }
    }
}

impl fmt::Display for ChooseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hint = |f: &mut fmt::Formatter<'_>, nearest: &Option<String>, known: &str| match nearest
        {
            Some(nearest) => write!(f, "; did you mean `{nearest}`? (known: {known})"),
            None if known.is_empty() => write!(f, "; it has none"),
            None => write!(f, "; known: {known}"),
        };
        match self {
            Self::UnknownController {
                word,
                nearest,
                known,
            } => {
                write!(f, "`{word}` is not a congestion controller")?;
                hint(f, nearest, known)
            }
            Self::UnknownParam {
                controller,
                word,
                nearest,
                known,
            } => {
                write!(f, "`{word}` is not a parameter of {controller}")?;
                hint(f, nearest, known)
            }
            Self::RetiredParam {
                controller,
                param,
                advice,
            } => {
                write!(
                    f,
                    "`{param}` is no longer a parameter of {controller}; {advice}"
                )
            }
            Self::NotAnAssignment { word } => {
                write!(f, "`{word}` is not a parameter: expected key=value")
            }
            Self::BadValue { param, error } => write!(f, "parameter `{param}`: {error}"),
        }
    }
}

impl core::error::Error for ChooseError {}

#[cfg(test)]
mod tests;
