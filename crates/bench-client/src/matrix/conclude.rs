use bench_report::result::MatrixResult;
use bench_report::stats;

/// Orders the cells of a result, and says whether there are as many as there should be.
pub(super) fn conclude(result: &mut MatrixResult, all_cells: usize) {
    result.cells.sort_by_key(|cell| cell.index);
    let has_all = result.cells.len() == all_cells;
    stats::conclude_drawn(result);
    let failed = result.cells.iter().any(|cell| cell.error.is_some());
    result.complete = result.error.is_none() && has_all && !failed;
}
