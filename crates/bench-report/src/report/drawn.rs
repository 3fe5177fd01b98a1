use super::page::{self, Shell, figure, reason};
use crate::plot::{self, escape};
use crate::result::{
    Drawn, DrawnDistribution, DrawnMeasures, DrawnMetric, DrawnShare, MatrixCell, MatrixResult,
};
use crate::text::{Unit, drawn_bound, drawn_figure};

pub(super) fn html(result: &MatrixResult, drawn: &Drawn) -> String {
    let mut main = String::new();
    page::parameters(&mut main, entries(result, drawn));
    for metric in DrawnMetric::ALL {
        section(&mut main, result, drawn, metric);
    }
    Shell {
        brand: "Controllers on paths drawn at random",
        heading: result.title.as_deref().unwrap_or(&result.name),
        note: None,
        headline: None,
        verdict: &verdict(drawn),
        alert: alert(result),
        command: None,
        data: String::new(),
        method: METHOD,
        version: &result.version,
    }
    .page(&main)
}

fn entries(result: &MatrixResult, drawn: &Drawn) -> Vec<(&'static str, String)> {
    let controllers = drawn.summaries.iter().map(|one| one.cc.as_str());
    let controllers: Vec<&str> = controllers.collect();
    let mut entries = vec![
        ("Matrix", result.name.clone()),
        ("Cells", cells(drawn).to_string()),
        ("Compared", controllers.join(", ")),
        (
            "Rounds",
            format!("{} × {} s each", result.rounds, result.round_seconds),
        ),
        ("Seed", result.seed.to_string()),
        (
            "Time",
            if result.is_virtual { "virtual" } else { "real" }.to_owned(),
        ),
    ];
    entries.extend(drawn.command.clone().map(|command| ("Command", command)));
    entries.extend(
        result
            .source
            .clone()
            .map(|source| ("Conditions from", source)),
    );
    entries
}

fn alert(result: &MatrixResult) -> Option<String> {
    let failed = result
        .cells
        .iter()
        .filter(|cell| cell.error.is_some())
        .count();
    if result.complete && failed == 0 {
        return None;
    }
    let error = reason(result.error.as_deref(), "Some rounds failed");
    Some(format!("{error}. Runs with a failed round: {failed}."))
}

/// How many cells there are of any controller.
fn cells(drawn: &Drawn) -> usize {
    let mut cells: Vec<u32> = drawn.measures.iter().map(|one| one.cell).collect();
    cells.dedup();
    cells.len()
}

/// Who is within three tenths of the best most often, and who least.
fn verdict(drawn: &Drawn) -> String {
    let loose = |one: &DrawnDistribution| one.within.last().map(|within| within.share.get());
    let summaries = drawn.summaries.iter().zip(drawn.short_names());
    let shares = summaries.filter_map(|(one, name)| {
        let regret = one.distributions.get(&DrawnMetric::Regret)?;
        Some((loose(regret)?, name))
    });
    let mut shares: Vec<(f64, String)> = shares.collect();
    // Of equal ones in their own order.
    shares.sort_by(|a, b| b.0.total_cmp(&a.0));
    let shares = shares
        .iter()
        .map(|(share, cc)| format!("{cc} {:.0} %", share * 100.0));
    let shares: Vec<String> = shares.collect();
    match shares.as_slice() {
        [] => "Nothing to compare.".to_owned(),
        shares => format!(
            "Cells in which a controller has at least 70 % of the best goodput: {}.",
            shares.join(", ")
        ),
    }
}

/// Where each controller is trusted: a row for each condition.
fn conditions(page: &mut String, drawn: &Drawn, metric: DrawnMetric) {
    let conditions = drawn.conditions.iter().filter(|one| one.metric == metric);
    let mut conditions = conditions.peekable();
    if conditions.peek().is_none() {
        return;
    }
    let [_, bound] = metric.bounds();
    page.push_str(&format!(
        "<details>\n<summary>By condition</summary>\n<div class=\"scroll\">\n\
         <table class=\"cells\">\n<caption>Share of cells with {}</caption>\n<thead>\n\
         <tr><th scope=\"col\">Condition</th><th scope=\"col\">Cells</th>",
        drawn_bound(metric, bound)
    ));
    for name in drawn.short_names() {
        page.push_str(&format!("<th scope=\"col\">{}</th>", escape(&name)));
    }
    page.push_str("</tr>\n</thead>\n<tbody>\n");
    for condition in conditions {
        let name = escape(&format!("{}={}", condition.variable, condition.value));
        let cells = condition.cells;
        page.push_str(&format!(
            "<tr><th scope=\"row\">{name}</th><td>{cells}</td>"
        ));
        for share in &condition.within {
            page.push_str(&format!("<td>{:.0} %</td>", share.get() * 100.0));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table>\n</div>\n</details>\n");
}

fn section(page: &mut String, result: &MatrixResult, drawn: &Drawn, metric: DrawnMetric) {
    let Some(drawing) = plot::drawn(drawn, metric) else {
        return;
    };
    let label = metric.label();
    page.push_str(&format!(
        "<section>\n<h2>{label}</h2>\n<p class=\"lead\">{}</p>\n<div class=\"columns\">\n",
        caption(metric)
    ));
    figure(page, &drawing, "");
    summary(page, drawn, metric);
    page.push_str("</div>\n");
    conditions(page, drawn, metric);
    for one in &drawn.summaries {
        if let Some(all) = one.distributions.get(&metric) {
            worst(page, result, drawn, metric, (&one.cc, all));
        }
    }
    page.push_str("</section>\n");
}

fn summary(page: &mut String, drawn: &Drawn, metric: DrawnMetric) {
    page.push_str("<div class=\"scroll\">\n<table>\n<caption>Share of cells, with 95 % intervals");
    page.push_str("</caption>\n<thead>\n<tr><th scope=\"col\">Controller</th>");
    for bound in metric.bounds() {
        let bound = drawn_bound(metric, bound);
        page.push_str(&format!("<th scope=\"col\">{bound}</th>"));
    }
    page.push_str("<th scope=\"col\">Median</th><th scope=\"col\">Worst</th></tr>\n</thead>\n");
    page.push_str("<tbody>\n");
    for (one, name) in drawn.summaries.iter().zip(drawn.short_names()) {
        let Some(all) = one.distributions.get(&metric) else {
            continue;
        };
        page.push_str(&format!("<tr><th scope=\"row\">{}</th>", escape(&name)));
        for share in &all.within {
            page.push_str(&share_field(share));
        }
        for figure in [all.median, all.worst] {
            page.push_str(&format!("<td>{}</td>", drawn_figure(metric, figure.get())));
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table>\n</div>\n");
}

fn share_field(share: &DrawnShare) -> String {
    let [share, low, high] = [share.share, share.low, share.high].map(|part| part.get() * 100.0);
    format!("<td>{share:.1} % <span class=\"interval\">{low:.1}–{high:.1}</span></td>")
}

/// The worst cells of one controller, each with the command that runs it again.
fn worst(
    page: &mut String,
    result: &MatrixResult,
    drawn: &Drawn,
    metric: DrawnMetric,
    (cc, all): (&str, &DrawnDistribution),
) {
    page.push_str(&format!(
        "<details>\n<summary>{}: worst cells</summary>\n<div class=\"scroll\">\n<table \
         class=\"cells\">\n<thead>\n<tr><th scope=\"col\">{}</th><th scope=\"col\">Goodput</th>\
         <th scope=\"col\">Link</th><th scope=\"col\">Return link</th><th scope=\"col\">Use</th>\
         <th scope=\"col\">Command</th></tr>\n</thead>\n<tbody>\n",
        escape(cc),
        metric.label()
    ));
    for number in &all.worst_cells {
        let measures = drawn.measures.iter();
        let mut measures = measures.filter(|one| one.cell == *number && one.cc == cc);
        let place = number.to_string();
        let mut cells = result.cells.iter();
        let is_it = |cell: &&MatrixCell| {
            cell.at.get("cell") == Some(&place) && cell.at.get("cc").is_some_and(|own| own == cc)
        };
        if let (Some(measures), Some(cell)) = (measures.next(), cells.find(is_it)) {
            row(page, drawn, metric, (measures, cell));
        }
    }
    page.push_str("</tbody>\n</table>\n</div>\n</details>\n");
}

fn row(
    page: &mut String,
    drawn: &Drawn,
    metric: DrawnMetric,
    (measures, cell): (&DrawnMeasures, &MatrixCell),
) {
    let figure = metric
        .of(measures)
        .map(|figure| drawn_figure(metric, figure));
    let goodput = Unit::Adaptive.rate(measures.goodput_bits_per_second.get());
    let usage = cell.at.get("use").map(String::as_str).unwrap_or_default();
    let command = drawn.command.as_deref().unwrap_or_default();
    let command = format!("{command} --only cell={}", measures.cell);
    page.push_str(&format!(
        "<tr><td>{}</td><td>{goodput}</td>",
        figure.unwrap_or_default()
    ));
    for text in [cell.link.as_str(), &cell.return_link, usage, &command] {
        page.push_str(&format!("<td class=\"text\">{}</td>", escape(text)));
    }
    page.push_str("</tr>\n");
}

const fn caption(metric: DrawnMetric) -> &'static str {
    match metric {
        DrawnMetric::Regret => {
            "How much of the best controller's goodput in the same cell is missing. A line that \
             rises early is a controller that can be trusted anywhere."
        }
        DrawnMetric::QueueDelayP95OverBaseRtt => {
            "The 95th percentile of the time in the bottleneck's queue, over the round-trip time \
             of the empty path. Further left is better."
        }
        DrawnMetric::JainIndex => {
            "How evenly two or eight flows of one controller share the path. Further right is \
             better; with eight flows, 0.125 is one that has everything."
        }
        DrawnMetric::NeighbourOverBesideCubic => {
            "The goodput of a CUBIC flow beside this controller, over what it has beside another \
             CUBIC flow in the same cell. Further right is better for others."
        }
    }
}

const METHOD: &str = "Each cell is one draw of all conditions, the same for all controllers, which \
                      meet the same random losses and delays. Intervals are Wilson's for a share \
                      of all paths of the distribution: they say how much another draw of as many \
                      cells may differ, and one in twenty misses the true value.";
