use super::page::named;
use super::reading::decided;
use crate::result::{AbResult, BaselineComparison, Comparison, Metric, Variant};
use crate::text::significant;

/// Every variant against the same one of an earlier test; nothing where there was none.
pub(super) fn section(page: &mut String, result: &AbResult) {
    let Some(baseline) = &result.baseline else {
        return;
    };
    page.push_str(&format!(
        "<section>\n<h2>Compared with the baseline</h2>\n<div class=\"scroll\">\n<table \
         class=\"result several\">\n<caption>{}</caption>\n<thead><tr><th \
         scope=\"col\">Metric</th>",
        if baseline.paired { PAIRED } else { UNPAIRED }
    ));
    let compared = result.variants.iter();
    let compared = compared.filter(|variant| baseline.comparisons.contains_key(&variant.name));
    let compared: Vec<&Variant> = compared.collect();
    for variant in &compared {
        page.push_str(&format!(
            "<th scope=\"col\">{}</th>",
            named(result, variant)
        ));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for metric in Metric::ALL {
        row(page, metric, baseline, &compared);
    }
    page.push_str("</tbody>\n</table>\n</div>\n</section>\n");
}

fn row(page: &mut String, metric: Metric, baseline: &BaselineComparison, variants: &[&Variant]) {
    let of = |variant: &&Variant| baseline.comparisons.get(&variant.name)?.get(&metric);
    let comparisons: Vec<Option<&Comparison>> = variants.iter().map(of).collect();
    if comparisons.iter().all(Option::is_none) {
        return;
    }
    let label = metric.label();
    page.push_str(&format!("<tr><th scope=\"row\">{label}</th>"));
    for comparison in comparisons {
        cell(page, metric, comparison);
    }
    page.push_str("</tr>\n");
}

fn cell(page: &mut String, metric: Metric, comparison: Option<&Comparison>) {
    let Some(comparison) = comparison else {
        page.push_str("<td>–</td>");
        return;
    };
    let ratio = comparison.ratio_b_over_a;
    let ratio = ratio.map_or_else(String::new, |r| format!("× {} ", significant(r.get())));
    let words = decided(metric, comparison.decision, "better", "worse");
    page.push_str(&format!("<td>{ratio}{words}"));
    if let Some((low, high)) = comparison.low.zip(comparison.high) {
        let (low, high) = (significant(low.get()), significant(high.get()));
        page.push_str(&format!("<span class=\"interval\">{low}–{high}</span>"));
    }
    page.push_str("</td>");
}

const PAIRED: &str = "Ratio of this test to the baseline, paired by round (both in virtual time \
                      with the same random draws), with its 95 % interval below";
const UNPAIRED: &str = "Ratio of this test's medians to the baseline's, with its 95 % interval \
                        below";
