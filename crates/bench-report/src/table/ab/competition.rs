use super::cells::{CELL, cell, title};
use crate::result::{Competition, Finite, Metric, Summary, Variant};
use crate::text::significant;

pub(super) fn block(table: &mut String, variants: &[Variant], competition: &Competition) {
    let flows: u32 = variants.iter().map(|variant| variant.flows).sum();
    let head = format!(
        "{:<NAME$} {:<CELL$}  {:<FAIR$} {}",
        "All at once", "share, %", "fair, %", "p95 RTT, ms"
    );
    table.push_str(&format!("{}\n", head.trim_end()));
    for variant in variants {
        let Some(share) = competition.shares.get(&variant.name) else {
            continue;
        };
        let fair = f64::from(variant.flows) / f64::from(flows.max(1)) * 100.0;
        let delay = variant.summary.get(&Metric::RttMsP95);
        let delay = delay.map(|delay| significant(delay.median.get()));
        let row = format!(
            "  {:<width$} {:<CELL$}  {:<FAIR$} {}",
            title(variant, variants, NAME - 2),
            share_cell(share),
            significant(fair),
            delay.unwrap_or_default(),
            width = NAME - 2,
        );
        table.push_str(&format!("{}\n", row.trim_end()));
    }
    table.push_str(&format!(
        "Jain's index {}\n",
        inline(&competition.jain_index, 1.0)
    ));
    let rounds = competition.rounds.len();
    table.push_str(&match &competition.convergence_seconds {
        Some(time) if time.rounds as usize == rounds => {
            format!("Fair {} s after the last flow started\n", inline(time, 1.0))
        }
        Some(time) => format!(
            "Fair {} s after the last flow started, in {} of {rounds} rounds\n",
            inline(time, 1.0),
            time.rounds
        ),
        None => "Not fair by the end of any round\n".to_owned(),
    });
    if let Some(used) = &competition.link_utilisation {
        table.push_str(&format!("Link utilisation {} %\n", inline(used, 100.0)));
    }
}

fn share_cell(share: &Summary) -> String {
    let percent = |value: f64| significant(value * 100.0);
    cell(share.median, share.low, share.high, percent)
}

/// `0.98 (0.95–1.00)`.
fn inline(summary: &Summary, factor: f64) -> String {
    let show = |value: Finite| significant(value.get() * factor);
    match (summary.low, summary.high) {
        (Some(low), Some(high)) => {
            format!("{} ({}–{})", show(summary.median), show(low), show(high))
        }
        _ => show(summary.median),
    }
}

const NAME: usize = 37;
const FAIR: usize = 8;
