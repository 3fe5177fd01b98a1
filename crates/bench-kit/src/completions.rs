//! What shells complete of the command lines of programs that know controllers.

pub use link_sim::program::{Shell, completions as script, with_values};

use cc_core::Registry;
use std::iter;

/// The controllers of `registry`, each with the begin of each of its parameters, as in
/// `bbr3:beta=`.
pub fn controllers(registry: &Registry) -> Vec<String> {
    let names = registry.specs().iter().flat_map(|spec| {
        let params = spec.params.iter();
        let params = params.map(|param| format!("{}:{}=", spec.name, param.name));
        iter::once(spec.name.to_owned()).chain(params)
    });
    names.collect()
}
