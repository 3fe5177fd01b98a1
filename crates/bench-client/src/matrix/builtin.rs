//! The matrices that are known by name, from `scenarios`.

use super::file::MatrixFile;
use bench_kit::failure::Failure;

#[derive(Debug, Clone, Copy)]
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    text: &'static str,
}

impl BuiltIn {
    pub(crate) fn file(&self) -> MatrixFile {
        MatrixFile::read(self.name, self.text).expect("a test reads every one")
    }
}

/// The matrix of this name.
///
/// # Errors
/// When there is none; the known ones are named.
pub(crate) fn find(name: &str) -> Result<MatrixFile, Failure> {
    let known = BUILT_IN.iter().find(|matrix| matrix.name == name);
    known.map(BuiltIn::file).ok_or_else(|| {
        let names = BUILT_IN.map(|matrix| matrix.name).join(", ");
        Failure::usage(format!(
            "no file or matrix called `{name}`; known matrices: {names}"
        ))
    })
}

macro_rules! built_in {
    ($name:literal) => {
        BuiltIn {
            name: $name,
            text: include_str!(concat!("../../scenarios/", $name, ".toml")),
        }
    };
}

/// In alphabetical order.
pub(crate) const BUILT_IN: [BuiltIn; 26] = [
    built_in!("anywhere"),
    built_in!("bbr-paper"),
    built_in!("bufferbloat"),
    built_in!("buffers"),
    built_in!("coexistence"),
    built_in!("duplicating"),
    built_in!("four-kernels"),
    built_in!("interop"),
    built_in!("interop-crosstraffic"),
    built_in!("kernel-tcp"),
    built_in!("loopback-loss"),
    built_in!("netem"),
    built_in!("pantheon"),
    built_in!("prudentia"),
    built_in!("random-loss"),
    built_in!("rfc8867-5.1"),
    built_in!("rfc8867-5.2"),
    built_in!("rfc8867-5.4"),
    built_in!("rfc8867-5.5"),
    built_in!("rfc8868"),
    built_in!("rtt-fairness"),
    built_in!("seven-rounds"),
    built_in!("short-flows"),
    built_in!("staggered"),
    built_in!("tcp-suite"),
    built_in!("windows"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ab::Backend;
    use crate::matrix::MatrixPlan;
    use cc_core::Registry;

    #[test]
    fn every_built_in_matrix_can_be_run_and_says_where_it_comes_from() {
        for matrix in BUILT_IN {
            let file = matrix.file();
            assert_eq!(file.name, matrix.name);
            let said = [&file.title, &file.source, &file.expected];
            assert!(said.iter().all(|text| text.is_some()), "{}", file.name);
            for backend in [Backend::Embedded, Backend::Simulated] {
                if file.is_drawn() && matches!(backend, Backend::Embedded) {
                    // Uses that change while they run need virtual time.
                    continue;
                }
                let plan = MatrixPlan::new(file.clone(), backend);
                let cells = plan.cells(&Registry::standard()).unwrap();
                assert!(!cells.is_empty());
            }
        }
    }

    #[test]
    fn they_are_in_alphabetical_order() {
        assert!(BUILT_IN.is_sorted_by_key(|matrix| matrix.name));
    }
}
