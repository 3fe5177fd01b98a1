use std::sync::LazyLock;

/// A link that is known by name: a real kind of network, from `scenarios/links.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// What stands at the begin of a description, such as `lte-down`.
    pub name: &'static str,
    /// The words that it stands for.
    pub link: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// Where its numbers come from; "ours" are those that have no source.
    pub source: &'static str,
    /// Where that can be read.
    pub url: &'static str,
}

/// Every known link, in alphabetical order.
pub fn presets() -> impl Iterator<Item = Preset> {
    PRESETS.iter().copied()
}

/// Reads as much of TOML as the file has: tables `[[link]]` of the same five strings, none of them
/// escaped. `None` is anything else.
fn read_toml(text: &'static str) -> Option<Vec<Preset>> {
    let is_content = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let mut lines = text.lines().filter(is_content);
    let mut presets = Vec::new();
    while let Some(line) = lines.next() {
        if line != "[[link]]" {
            return None;
        }
        let mut value = |key| string(lines.next()?, key);
        presets.push(Preset {
            name: value("name")?,
            link: value("link")?,
            summary: value("summary")?,
            source: value("source")?,
            url: value("url")?,
        });
    }
    Some(presets)
}

/// `VALUE` of a line `key = "VALUE"`.
fn string(line: &'static str, key: &str) -> Option<&'static str> {
    let value = line.strip_prefix(key)?.strip_prefix(" = \"")?;
    let value = value.strip_suffix('"')?;
    (!value.contains(['"', '\\'])).then_some(value)
}

static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    read_toml(LINKS).expect("a test has read scenarios/links.toml with a TOML library")
});
const LINKS: &str = include_str!("../../scenarios/links.toml");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::link_spec::LinkSpec;
    use core::time::Duration;

    #[test]
    fn the_file_is_toml_and_read_as_a_toml_library_reads_it() {
        let file: toml::Table = LINKS.parse().unwrap();
        assert_eq!(file.keys().collect::<Vec<_>>(), ["link"]);
        let tables = file["link"].as_array().unwrap();
        let strings = |table: &toml::Value| -> Vec<String> {
            let text = |key| table[key].as_str().unwrap().to_owned();
            assert_eq!(table.as_table().unwrap().len(), 5);
            ["name", "link", "summary", "source", "url"]
                .map(text)
                .to_vec()
        };
        let known = presets().map(|preset| {
            [
                preset.name,
                preset.link,
                preset.summary,
                preset.source,
                preset.url,
            ]
            .map(str::to_owned)
            .to_vec()
        });
        assert!(tables.iter().map(strings).eq(known));
        assert!(tables.len() > 20);
    }

    #[test]
    fn anything_else_is_not_read() {
        let table =
            "[[link]]\nname = \"a\"\nlink = \"\"\nsummary = \"\"\nsource = \"\"\nurl = \"\"\n";
        let preset = Preset {
            name: "a",
            link: "",
            summary: "",
            source: "",
            url: "",
        };
        assert_eq!(read_toml(table), Some(vec![preset]));
        let spoilt = |from: &str, to: &str| -> &'static str { table.replacen(from, to, 1).leak() };
        for (from, to) in [
            ("link = \"\"\n", ""),
            ("name", "naem"),
            ("\"a\"", "'a'"),
            ("\"a\"", "\"a\\n\""),
            ("\"a\"", "\"a\" # a"),
            ("[[link]]", "[link]"),
            ("url", "more = 1\nurl"),
        ] {
            assert_eq!(read_toml(spoilt(from, to)), None, "{to}");
        }
    }

    #[test]
    fn every_preset_is_a_link_with_a_source() {
        let names: Vec<&str> = presets().map(|preset| preset.name).collect();
        assert!(names.is_sorted());
        for preset in presets() {
            let spec: LinkSpec = preset.name.parse().unwrap();
            assert_eq!(spec.to_string(), preset.link, "{}", preset.name);
            assert!(spec.rate().is_some() && spec.delay() > Duration::ZERO);
            assert!(preset.url.starts_with("https://") && !preset.source.is_empty());
            let (kind, way) = preset.name.rsplit_once('-').unwrap_or((preset.name, ""));
            let other = match way {
                "down" => "up",
                "up" => "down",
                _ => continue,
            };
            assert!(names.contains(&&*format!("{kind}-{other}")));
        }
    }

    #[test]
    fn words_behind_a_preset_replace_its_own() {
        let spec: LinkSpec = "lte-down loss 1% queue 9p at 5s rate 1mbit"
            .parse()
            .unwrap();
        assert_eq!(
            spec.to_string(),
            "delay 35ms loss 1% rate 12mbit queue 9p at 5s rate 1mbit"
        );
    }

    #[test]
    fn a_preset_at_the_wrong_place_or_misspelt_is_refused_by_name() {
        let error = "loss 1% lte-down".parse::<LinkSpec>().unwrap_err();
        assert_eq!((error.word(), error.column()), ("lte-down", 9));
        assert!(error.problem().contains("must come first"), "{error}");
        let error = "lte-donw".parse::<LinkSpec>().unwrap_err();
        assert!(
            error.problem().contains("did you mean `lte-down`?"),
            "{error}"
        );
    }
}
