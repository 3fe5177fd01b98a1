use super::line::{line, shown};
use crate::result::{Finite, MatrixCell, MatrixResult, MatrixVariant, Metric};

/// A row per variant of each cell of a matrix: the conditions, and every metric's median with its
/// interval, below a row of names with their units. What is not known is empty. Conditions have
/// their own names; another column that would have the name of one, as `cell` and `cc` where
/// conditions are drawn, begins with `row_`.
pub fn cells(result: &MatrixResult) -> String {
    let axes: Vec<&str> = result.axes.iter().map(|axis| axis.name.as_str()).collect();
    let mut text = String::new();
    let unless_condition = |name: String| {
        if axes.contains(&name.as_str()) {
            format!("row_{name}")
        } else {
            name
        }
    };
    let metrics = Metric::ALL.into_iter().flat_map(|metric| {
        let name = metric.name();
        ["", "_low", "_high"].map(|end| format!("{name}{end}"))
    });
    let measured = FIXED.into_iter().map(str::to_owned).chain(metrics);
    let names = [unless_condition("cell".to_owned())]
        .into_iter()
        .chain(axes.iter().map(|&axis| axis.to_owned()))
        .chain(measured.map(unless_condition));
    line(&mut text, names);
    for cell in &result.cells {
        for variant in &cell.variants {
            row(&mut text, &axes, cell, variant);
        }
    }
    text
}

fn row(text: &mut String, axes: &[&str], cell: &MatrixCell, variant: &MatrixVariant) {
    let place = axes
        .iter()
        .map(|axis| cell.at.get(*axis).cloned().unwrap_or_default());
    let competition = cell.competition.as_ref();
    let share = competition.and_then(|competition| competition.shares.get(&variant.name));
    let fixed = [
        Some(cell.link.clone()),
        Some(cell.return_link.clone()),
        Some(variant.name.clone()),
        Some(variant.cc.clone()),
        Some(variant.flows.to_string()),
        Some(variant.start_seconds.to_string()),
        Some(variant.extra_delay_ms.to_string()),
        Some(variant.duplicate.to_string()),
        cell.error.clone(),
        shown(competition.map(|competition| competition.jain_index.median)),
        shown(share.map(|share| share.median)),
    ];
    let metrics = Metric::ALL.into_iter().flat_map(|metric| {
        let summary = variant.summary.get(&metric);
        let figures: [Option<Finite>; 3] = [
            summary.map(|summary| summary.median),
            summary.and_then(|summary| summary.low),
            summary.and_then(|summary| summary.high),
        ];
        figures.map(|figure| shown(figure).unwrap_or_default())
    });
    let fields = [cell.index.to_string()].into_iter().chain(place);
    let fixed = fixed.into_iter().map(Option::unwrap_or_default);
    line(text, fields.chain(fixed).chain(metrics));
}

const FIXED: [&str; 11] = [
    "link",
    "return_link",
    "variant",
    "cc",
    "flows",
    "start_seconds",
    "extra_delay_ms",
    "duplicate",
    "error",
    "jain_index",
    "share",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::result::MatrixCompetition;

    #[test]
    fn every_variant_of_every_cell_has_a_row_with_a_field_per_name() {
        let result = fixtures::matrix();
        let text = cells(&result);
        let variants: usize = result.cells.iter().map(|cell| cell.variants.len()).sum();
        assert_eq!(text.lines().count(), 1 + variants);
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let names = lines.next().unwrap();
        assert!(names.starts_with(&["cell", "loss", "delay", "link"]));
        assert!(lines.all(|fields| fields.len() == names.len()));
        assert!(text.contains(",b,bbr3,1,0,0,1,"), "{text}");
    }

    #[test]
    fn no_two_columns_have_one_name() {
        let text = cells(&fixtures::drawn());
        let names: Vec<_> = text.lines().next().unwrap().split(',').collect();
        assert!(names.starts_with(&["row_cell", "cell"]), "{names:?}");
        assert!(names.contains(&"cc") && names.contains(&"row_cc"));
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len(), "{names:?}");
    }

    #[test]
    fn every_figure_stands_below_its_name() {
        let mut result = fixtures::matrix();
        let mut competition = fixtures::competition().competition.unwrap();
        let share = competition.shares.get_mut("a").unwrap();
        (share.median, share.mean) = (fixtures::finite(0.25), fixtures::finite(0.3));
        result.cells[0].competition = Some(MatrixCompetition {
            jain_index: competition.jain_index,
            shares: competition.shares,
            convergence_seconds: None,
            link_utilisation: None,
        });
        let goodput = result.cells[0].variants[0].summary[&Metric::GoodputBitsPerSecond];
        let text = cells(&result);
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let (names, first) = (lines.next().unwrap(), lines.next().unwrap());
        let of = |name: &str| first[names.iter().position(|n| *n == name).unwrap()];
        assert_eq!((of("share"), of("jain_index")), ("0.25", "0.7"));
        assert_eq!(of("goodput_bits_per_second"), goodput.median.to_string());
        assert_eq!(
            of("goodput_bits_per_second_low"),
            goodput.low.unwrap().to_string()
        );
        assert_eq!(
            of("goodput_bits_per_second_high"),
            goodput.high.unwrap().to_string()
        );
    }
}
