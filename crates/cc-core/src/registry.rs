//! Controllers by name: `NAME` or `NAME:key=value,key=value`.

use crate::controller::{Controller, Setup};
use crate::params::{ParamSpec, Params, read_value};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// How a kind of controller is called, tuned and made.
#[derive(Debug, Clone, Copy)]
pub struct ControllerSpec {
    /// The name to choose it by, in lower case.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// What it is, in a line, with its specification.
    pub summary: &'static str,
    /// What can be tuned.
    pub params: &'static [ParamSpec],
    /// Makes one. The parameters have been checked against `params`.
    pub build: fn(&Params, &Setup) -> Box<dyn Controller>,
}

/// A controller that has been chosen and tuned; makes one per connection.
///
/// `Display` gives a string that chooses the same again.
#[derive(Debug, Clone)]
pub struct ControllerChoice {
    spec: ControllerSpec,
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
    specs: Vec<ControllerSpec>,
    retired: &'static [RetiredParam],
}

impl Registry {
    pub(crate) fn of(specs: &[ControllerSpec], retired: &'static [RetiredParam]) -> Self {
        Self {
            specs: specs.to_vec(),
            retired,
        }
    }

    /// Adds a controller. One of the same name is replaced.
    pub fn register(&mut self, spec: ControllerSpec) {
        self.specs.retain(|known| known.name != spec.name);
        self.specs.push(spec);
    }

    /// The same with one controller more; see [`register`](Self::register).
    #[must_use]
    pub fn with(mut self, spec: ControllerSpec) -> Self {
        self.register(spec);
        self
    }

    /// What can be chosen, in order of registration.
    pub fn specs(&self) -> &[ControllerSpec] {
        &self.specs
    }

    /// The controller that `text` names: `NAME` or `NAME:key=value,key=value`.
    ///
    /// # Errors
    /// Names the word that is wrong, what could stand there, and the nearest right word.
    pub fn choose(&self, text: &str) -> Result<ControllerChoice, ChooseError> {
        let (name, assignments) = text.split_once(':').unwrap_or((text, ""));
        let spec = *self.find(name)?;
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
    fn no_param(&self, spec: &ControllerSpec, key: &str) -> ChooseError {
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

    fn find(&self, name: &str) -> Result<&ControllerSpec, ChooseError> {
        let is_named = |spec: &&ControllerSpec| spec.name == name || spec.aliases.contains(&name);
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
