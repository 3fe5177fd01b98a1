use cc_core::{Controller, ControllerChoice, Registry, Setup, Value};
use std::fmt;
use units::Gain;

/// Who is looked at: a controller with its parameters, and how its connection begins.
#[derive(Debug)]
pub(crate) struct Subject {
    choice: ControllerChoice,
    /// Every parameter with its value, defaults included.
    params: Vec<(&'static str, Value)>,
    pub(crate) setup: Setup,
}

impl Subject {
    /// The standard controller `name` with these parameters.
    ///
    /// # Panics
    /// When the registry refuses them.
    pub(crate) fn new(
        name: &'static str,
        params: Vec<(&'static str, Value)>,
        setup: Setup,
    ) -> Self {
        let assignments = params.iter();
        let assignments = assignments.map(|(name, value)| format!("{name}={value}"));
        let text = format!("{name}:{}", assignments.collect::<Vec<_>>().join(","));
        let choice = Registry::standard().choose(&text);
        let choice = choice.unwrap_or_else(|error| panic!("{text}: {error}"));
        Self {
            choice,
            params,
            setup,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.choice.name()
    }

    pub(crate) fn build(&self, setup: &Setup) -> Box<dyn Controller> {
        self.choice.build(setup)
    }

    /// The parameter of this name, if there is such a count.
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        match self.param(name) {
            Some(Value::Count(count)) => Some(count),
            _ => None,
        }
    }

    /// The parameter of this name, if there is such a factor.
    pub(crate) fn gain(&self, name: &str) -> Option<Gain> {
        match self.param(name) {
            Some(Value::Gain(gain)) => Some(gain),
            _ => None,
        }
    }

    fn param(&self, name: &str) -> Option<Value> {
        let mut params = self.params.iter();
        params
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    }

    /// Whether there is a switch of this name, and it is in this position.
    pub(crate) fn has(&self, name: &str, on: bool) -> bool {
        self.param(name) == Some(Value::Switch(on))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` begun as {:?}", self.choice, self.setup)
    }
}
