use crate::plot::{self, Figure, escape};
use crate::result::{AbResult, Variant};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

pub(super) struct Shell<'a> {
    /// What kind of measurement it was, in a few words.
    pub(super) brand: &'a str,
    pub(super) heading: &'a str,
    /// What the user has to say about it.
    pub(super) note: Option<&'a str>,
    /// Who won and what it cost, where that is known.
    pub(super) headline: Option<String>,
    pub(super) verdict: &'a str,
    /// What the reader must know first, where something went wrong.
    pub(super) alert: Option<String>,
    /// The command that made it, where the result has it.
    pub(super) command: Option<&'a str>,
    /// The figures as JSON: an element of the page, or nothing.
    pub(super) data: String,
    pub(super) method: &'a str,
    pub(super) version: &'a str,
}

impl Shell<'_> {
    pub(super) fn page(&self, main: &str) -> String {
        let mut page = self.head();
        page.push_str(&format!(
            "<header>\n<p class=\"brand\">Paceline <span>{}</span></p>\n\
             <h1>{}</h1>\n{}{}<p class=\"verdict{}\">{}</p>\n",
            escape(self.brand),
            escape(self.heading),
            self.note.map_or_else(String::new, |note| {
                format!("<p class=\"note\">{}</p>\n", escape(note))
            }),
            self.headline.as_ref().map_or_else(String::new, |headline| {
                format!("<p class=\"headline\">{}</p>\n", escape(headline))
            }),
            if self.verdict.len() > LONG {
                " long"
            } else {
                ""
            },
            escape(self.verdict)
        ));
        if let Some(alert) = &self.alert {
            page.push_str(&format!(
                "<p class=\"alert\" role=\"alert\"><strong>Incomplete.</strong> {}</p>\n",
                escape(alert)
            ));
        }
        page.push_str("</header>\n<main>\n");
        page.push_str(main);
        page.push_str(&format!(
            "</main>\n<footer>\n{}<p>{}</p>\n<p>{}</p>\n</footer>\n{}\
             <script>{SCRIPT_BEGIN}{SCRIPT}{SCRIPT_END}</script>\n</body>\n</html>\n",
            self.command.map_or_else(String::new, |command| {
                format!(
                    "<p>Made by <code class=\"command\">{}</code></p>\n",
                    escape(command)
                )
            }),
            escape(self.method),
            escape(self.version),
            self.data
        ));
        page
    }

    fn head(&self) -> String {
        let style = format!("\n{PAGE_STYLE}{}{}\n", plot::chips(), plot::stylesheet());
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{}\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <meta name=\"color-scheme\" content=\"light dark\"/>\n\
             <title>{}</title>\n<style>{style}</style>\n</head>\n<body>\n",
            policy(&style),
            escape(self.heading),
        )
    }
}

/// Why a result is not whole, without a full stop: its error, or else `otherwise`.
pub(super) fn reason<'a>(error: Option<&'a str>, otherwise: &'a str) -> &'a str {
    error.unwrap_or(otherwise).trim_end_matches('.')
}

pub(super) fn parameters<'a>(
    page: &mut String,
    entries: impl IntoIterator<Item = (&'a str, String)>,
) {
    page.push_str("<dl class=\"parameters\">\n");
    for (name, value) in entries {
        page.push_str(&format!(
            "<div><dt>{name}</dt><dd>{}</dd></div>\n",
            escape(&value)
        ));
    }
    page.push_str("</dl>\n");
}

pub(super) fn link(link: &str) -> String {
    match link {
        "" => "none".to_owned(),
        link => link.to_owned(),
    }
}

pub(super) fn figure(page: &mut String, figure: &Figure, caption: &str) {
    page.push_str("<figure>\n");
    drawing(page, figure);
    if !caption.is_empty() {
        page.push_str(&format!("<figcaption>{caption}</figcaption>\n"));
    }
    page.push_str("</figure>\n");
}

/// A figure, below a box that shows its [switched](plot::arrivals) line where it has one.
pub(super) fn drawing(page: &mut String, figure: &Figure) {
    let svg = figure.inline();
    if svg.contains("\"switched ") {
        // No other has its place in the page.
        let id = format!("goodput-{}", page.len());
        page.push_str(&format!(
            "<input class=\"switch\" type=\"checkbox\" id=\"{id}\"/><label for=\"{id}\">also \
             goodput in order</label>\n"
        ));
    }
    page.push_str(&svg);
}

/// A variant by its letter and its short label, which stay in one line.
pub(super) fn named(result: &AbResult, variant: &Variant) -> String {
    format!(
        "{}\u{a0}{}",
        letter(&variant.name),
        escape(&result.short_label(variant))
    )
}

pub(super) fn letter(name: &str) -> String {
    format!("<span class=\"chip chip-{0}\">{0}</span>", escape(name))
}

/// From how many bytes on a verdict is set as text and not as a headline.
const LONG: usize = 300;

/// Below a figure of boxes.
pub(super) const BOXES: &str = "Box: the middle half, with a line at the median; whiskers: 5 % to \
                                95 %. Goodput by interval of the time series, RTT by sample, over \
                                all rounds. Goodput is of data in order: an interval in which a \
                                gap is filled may exceed the link's rate.";

const PAGE_STYLE: &str = include_str!("style.css");

/// The one style sheet and the one script, each by its hash: nothing else, from anywhere.
fn policy(style: &str) -> String {
    let script = [SCRIPT_BEGIN, SCRIPT, SCRIPT_END].concat();
    format!(
        "default-src 'none'; style-src {}; script-src {}",
        source(style),
        source(&script)
    )
}

/// What a policy calls an element with this text.
fn source(text: &str) -> String {
    let hash = Sha256::digest(text);
    format!("'sha256-{}'", BASE64_STANDARD.encode(hash))
}

pub(super) const SCRIPT: &str = include_str!("script.js");

/// Around the script, so that the page is XML as well.
const SCRIPT_BEGIN: &str = "//<![CDATA[\n";
const SCRIPT_END: &str = "//]]>\n";
