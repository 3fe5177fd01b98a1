use super::cells::CriterionCells;
use crate::ab;
use crate::client;
use crate::matrix::CellPlan;
use bench_kit::failure::Failure;
use bench_kit::interrupt::Interrupts;
use bench_report::result::AbResult;
use cc_core::Registry;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Tests that have been run, by the fingerprints of their plans: criteria share some, and the
/// references of all controllers are the same.
#[derive(Debug, Default)]
pub(crate) struct Tests(pub(super) BTreeMap<String, AbResult>);

impl Tests {
    /// Runs those of `cells` that have not been run, as many at once as there are workers.
    pub(super) fn complete(
        &mut self,
        cells: &CriterionCells<'_>,
        registry: &Registry,
        workers: NonZero<usize>,
        interrupts: &Interrupts,
    ) -> Result<(), Failure> {
        let tests = cells.tests().map(|cell| (cell.fingerprint(), cell));
        let due = tests.filter(|(fingerprint, _)| !self.0.contains_key(fingerprint));
        let due: BTreeMap<String, &CellPlan> = due.collect();
        let due: Vec<(String, &CellPlan)> = due.into_iter().collect();
        let outer = workers.get().min(due.len());
        // Of each test: more than one where tests are fewer than cores.
        let inner = workers.get().checked_div(outer).and_then(NonZero::new);
        let inner = inner.unwrap_or(NonZero::<usize>::MIN);
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Ok(Vec::new()));
        let work = || {
            while let Some((fingerprint, cell)) = due.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = test(cell, registry, inner, interrupts);
                let mut done = done.lock().expect("no test panics while it holds the lock");
                match (&mut *done, result) {
                    (Ok(done), Ok(result)) => done.push((fingerprint.clone(), result)),
                    (Ok(_), Err(failure)) => *done = Err(failure),
                    // The first failure is the cause; others follow from it.
                    (Err(_), _) => return,
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..outer {
                scope.spawn(work);
            }
        });
        let done = done.into_inner();
        self.0
            .extend(done.expect("no test panics while it holds the lock")?);
        Ok(())
    }

    pub(super) fn result(&self, cell: &CellPlan) -> &AbResult {
        let result = self.0.get(&cell.fingerprint());
        result.expect("the cells of a criterion are completed before its figure")
    }

    /// Keeps what other controllers need too, the tests in which `cc` had no part.
    pub(crate) fn forget(&mut self, cc: &str) {
        self.0.retain(|_, result| {
            let mut variants = result.variants.iter();
            variants.all(|variant| variant.cc != cc)
        });
    }
}

/// # Errors
/// When it was interrupted, or could not begin; a round that fails is a result.
fn test(
    cell: &CellPlan,
    registry: &Registry,
    workers: NonZero<usize>,
    interrupts: &Interrupts,
) -> Result<AbResult, Failure> {
    if interrupts.is_interrupted() {
        return Err(Failure::run(client::INTERRUPTED));
    }
    let result = ab::run(&cell.ab_setup(registry, workers), interrupts, &mut |_| {})?;
    match result.error {
        Some(error) => Err(Failure::run(error)),
        None => Ok(result),
    }
}
