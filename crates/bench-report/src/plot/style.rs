/// The style sheet of every figure: text, lines, and the colours for light and dark.
///
/// The dark colours stand in a media query for screens, so that paper is always light. Every class
/// is spelled out, without custom properties, for viewers of single SVG files that know no more
/// than plain CSS.
pub fn stylesheet() -> String {
    let mut sheet = SHAPES.to_owned();
    let mut dark = String::new();
    for (classes, property, light_colour, dark_colour) in COLOURS {
        rule(&mut sheet, classes, property, light_colour);
        rule(&mut dark, classes, property, dark_colour);
    }
    for (name, light_colour, dark_colour, dashes) in VARIANTS {
        for (selector, property) in [
            (format!(".plot .{name}"), "stroke"),
            (format!(".plot .{name}-fill"), "fill"),
        ] {
            rule(&mut sheet, &selector, property, light_colour);
            rule(&mut dark, &selector, property, dark_colour);
        }
        if !dashes.is_empty() {
            let class = format!(".plot .bold.{name}");
            rule(&mut sheet, &class, "stroke-dasharray", dashes);
        }
    }
    for (class, light_colour, dark_colour) in STATES {
        let class = format!(".plot .{class}");
        rule(&mut sheet, &class, "fill", light_colour);
        rule(&mut dark, &class, "fill", dark_colour);
    }
    sheet.push_str(&format!(
        "@media screen and (prefers-color-scheme:dark){{{dark}}}"
    ));
    sheet
}

/// The style sheet of `.chip-a`, `.chip-b` and so on: a variant's letter on its colour.
pub fn chips() -> String {
    let (mut sheet, mut dark) = (String::new(), String::new());
    for (name, light_colour, dark_colour, _) in VARIANTS {
        let class = format!(".chip-{name}");
        rule(&mut sheet, &class, "background", light_colour);
        rule(&mut dark, &class, "background", dark_colour);
    }
    format!("{sheet}@media screen and (prefers-color-scheme:dark){{{dark}}}")
}

fn rule(sheet: &mut String, selector: &str, property: &str, value: &str) {
    sheet.push_str(&format!("{selector}{{{property}:{value}}}"));
}

/// Everything but colour. Text grows on a narrow screen and on paper, where a figure is scaled
/// down, to [`LARGE_TEXT`](super::svg::LARGE_TEXT); the figures leave room for it.
const SHAPES: &str = "\
.plot{display:block;width:100%;height:auto;font-family:system-ui,-apple-system,'Segoe UI',Roboto,\
'Liberation Sans','DejaVu Sans',sans-serif;font-size:10.5px}\
.plot text{stroke-width:0}\
.plot .heading{font-weight:600}\
.plot .middle{text-anchor:middle}\
.plot .end{text-anchor:end}\
.plot path{fill:none;stroke-linejoin:round;stroke-linecap:round;stroke-width:1}\
.plot .grid{stroke-width:.6}\
.plot .axis{stroke-width:.8}\
.plot .bold{stroke-width:1.8}\
.plot .thin{stroke-width:.8;stroke-opacity:.45}\
.plot .second{stroke-width:1.1}\
.plot .switched{display:none}\
.plot .off{opacity:.4;text-decoration:line-through}\
.plot.zoomed .x{display:none}\
.plot path.switched{stroke-width:1.3;stroke-dasharray:1 2.5}\
.plot .reference{stroke-width:1;stroke-dasharray:5 3;stroke-linecap:butt}\
.plot .interval{stroke-width:2;stroke-linecap:butt}\
.plot .halo{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}\
.plot .band{fill-opacity:.2}\
.plot .warm-up{fill-opacity:.5}\
.plot .hollow{stroke-width:1.4}\
.plot .dot{fill-opacity:.75}\
.plot .box{fill-opacity:.55}\
.plot .median{stroke-width:1.6;stroke-linecap:butt}\
.plot .ring{fill:none;stroke-width:1.8}\
.plot .whisker{stroke-width:1.1;stroke-opacity:.7}\
.plot .area{fill-opacity:.85;stroke-width:.8}\
.plot .cell{stroke-width:.8;stroke-dasharray:2 2}\
.plot .lead-1{fill-opacity:.14}\
.plot .lead-2{fill-opacity:.28}\
.plot .lead-3{fill-opacity:.44}\
.plot .lead-4{fill-opacity:.62}\
@media screen and (max-width:640px){.plot{font-size:12px}}\
@media print{.plot{font-size:12px}}\
";

/// The variants: class, light, dark, and the dashes of their bold lines, the first two of which
/// have none. Neighbours stay apart by hue or by lightness in every form of colour blindness; the
/// first two also in grey. White on the light ones and black on the dark ones has a contrast of at
/// least 4.5 (WCAG 2.2, 1.4.3).
const VARIANTS: [(&str, &str, &str, &str); 8] = [
    ("a", "#d1450f", "#ff9457", ""),
    ("b", "#0b4f9c", "#58b0ff", ""),
    ("c", "#0a8074", "#4fd1bd", "8 2.5"),
    ("d", "#a8328f", "#f08fdc", "3.5 2.5"),
    ("e", "#3f454d", "#c9d1d9", "9 2.5 2 2.5"),
    ("f", "#946a00", "#e3b341", "5 2"),
    ("g", "#2b78b8", "#9cc4f0", "2 2"),
    ("h", "#7f1d1d", "#ff7b72", "12 3 2 3 2 3"),
];

/// Selector, property, light, dark.
const COLOURS: [(&str, &str, &str, &str); 18] = [
    (".plot .inverse", "fill", "#ffffff", "#14181d"),
    (".plot .area", "stroke", "#ffffff", "#14181d"),
    (".plot .cell", "stroke", "#8c959f", "#8c959f"),
    (".plot .lead", "fill", "#57606a", "#a5aeb8"),
    (".plot .on-tint", "fill", "#14181d", "#14181d"),
    (".plot .paper", "fill", "#ffffff", "#14181d"),
    (".plot text", "fill", "#24292f", "#e3e7eb"),
    (".plot .label", "fill", "#57606a", "#a5aeb8"),
    (".plot .grid", "stroke", "#e3e6ea", "#2a3038"),
    (".plot .axis", "stroke", "#8c959f", "#6b7480"),
    (".plot .reference", "stroke", "#57606a", "#a5aeb8"),
    (".plot .halo", "stroke", "#ffffff", "#14181d"),
    (".plot .warm-up", "fill", "#d8dce1", "#39414b"),
    (".plot .none,.plot .hollow", "stroke", "#8c959f", "#8c959f"),
    (
        ".plot .second,.plot .median",
        "stroke",
        "#24292f",
        "#e3e7eb",
    ),
    (".plot .none-fill,.plot .cell", "fill", "#ffffff", "#14181d"),
    (".plot .same-fill", "fill", "#8c959f", "#8c959f"),
    (".plot .loss,.plot .single", "fill", "#57606a", "#a5aeb8"),
];

/// The colours of limits and states: class, light, dark. Light tints that stay apart in every form
/// of colour blindness, by hue and by lightness.
const STATES: [(&str, &str, &str); 17] = [
    ("limit-window", "#8fb8de", "#8fb8de"),
    ("limit-pacing", "#f2c879", "#f2c879"),
    ("limit-application", "#c3c8cf", "#c3c8cf"),
    ("limit-flow", "#c9a0dc", "#c9a0dc"),
    ("limit-host", "#e88f8f", "#e88f8f"),
    ("state-startup", "#ee8866", "#ee8866"),
    ("state-drain", "#eedd88", "#eedd88"),
    ("state-down", "#77aadd", "#77aadd"),
    ("state-cruise", "#44bb99", "#44bb99"),
    ("state-refill", "#99ddff", "#99ddff"),
    ("state-up", "#bbcc33", "#bbcc33"),
    ("state-probe-rtt", "#ffaabb", "#ffaabb"),
    ("state-recovery", "#aa4499", "#cc77bb"),
    ("state-other-0", "#bbbbbb", "#bbbbbb"),
    ("state-other-1", "#ddcc77", "#ddcc77"),
    ("state-other-2", "#88ccee", "#88ccee"),
    ("state-other-3", "#cc6677", "#cc6677"),
];
