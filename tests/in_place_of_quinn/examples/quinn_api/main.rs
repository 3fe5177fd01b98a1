//! What quinn's public interface has and that of `crates/quinn-shim` and of `paceline` lack, in two
//! lists: what the tables of `docs/porting-from-quinn.md` name, and what they do not. Fails when
//! there is one of the latter, or when the differences are others than those in the file
//! `quinn_api.txt`. `quinn_api.sh` runs it, with what rustdoc says of each crate.

mod docs;
mod features;
mod interface;
mod signature;
mod tables;

use docs::Docs;
use features::Features;
use interface::{Interface, interface};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let result = match &*arguments {
        [folder, page, list] => compare(Path::new(folder), page, list, false),
        [folder, page, list, option] if option == "--write" => {
            compare(Path::new(folder), page, list, true)
        }
        _ => Err(USAGE.to_owned()),
    };
    if let Err(error) = result {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn compare(folder: &Path, page: &str, list: &str, write: bool) -> Result<(), String> {
    let unread = |file: &str, error| format!("{file} cannot be read: {error}; {USAGE}");
    let text = fs::read_to_string(page).map_err(|error| unread(page, error))?;
    let docs = Docs::read(folder, &FILES)?;
    let features = Features::read(folder)?;
    let mut quinn = interface(&docs, "published");
    features.add_to(&mut quinn, "published");
    let mut differences = BTreeSet::new();
    let mut unnamed = 0;
    for (ours, heading) in COLUMNS {
        let names = tables::names(&text, heading)?;
        let mut here = interface(&docs, ours);
        features.add_to(&mut here, ours);
        let found = found(&quinn, &here, ours);
        let (inside, outside): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|one| tables::covers(&names, &one.path));
        println!("{ours}, of {} items of quinn's:", quinn.len());
        print("in the table", &inside);
        print("not in the table", &outside);
        unnamed += outside.len();
        differences.extend(inside.iter().chain(&outside).map(Difference::line));
    }
    check(&differences, list, write)?;
    if unnamed > 0 {
        return Err(format!(
            "{unnamed} differences from quinn's interface are in no table of {page}; add what is \
             missing to the crate, or its name and the reason to the table"
        ));
    }
    Ok(())
}

/// An item that is not there, or is there with another signature.
struct Difference {
    ours: &'static str,
    path: String,
    quinns: String,
    here: Option<String>,
}

impl Difference {
    fn line(&self) -> String {
        let how = if self.here.is_none() {
            "lacks"
        } else {
            "differs in"
        };
        format!("{} {how} {}", self.ours, self.path)
    }
}

/// Without the items of a type, trait or module that is not there itself.
fn found(quinn: &Interface, here: &Interface, ours: &'static str) -> Vec<Difference> {
    let mut found = Vec::new();
    for (path, quinns) in quinn {
        let same = here.get(path);
        if same == Some(quinns) || owner(path).is_some_and(|owner| !here.contains_key(owner)) {
            continue;
        }
        found.push(Difference {
            ours,
            path: path.clone(),
            quinns: quinns.clone(),
            here: same.cloned(),
        });
    }
    found
}

/// The type, trait or module that an item belongs to.
fn owner(path: &str) -> Option<&str> {
    let own = path.split_once(": ").map_or(path, |(own, _)| own);
    if own.len() < path.len() {
        return Some(own);
    }
    let field = own.rsplit_once('.').map(|(owner, _)| owner);
    field.or_else(|| own.rsplit_once("::").map(|(owner, _)| owner))
}

fn print(title: &str, differences: &[Difference]) {
    println!("  {title}: {}", differences.len());
    for one in differences {
        println!("    {}", one.line());
        if let Some(here) = &one.here {
            println!("      quinn: {}\n      here:  {here}", one.quinns);
        }
    }
}

/// Whether the differences are those that are known.
fn check(differences: &BTreeSet<String>, list: &str, write: bool) -> Result<(), String> {
    if write {
        let lines: String = differences.iter().map(|line| format!("{line}\n")).collect();
        return fs::write(list, lines)
            .map_err(|error| format!("{list} cannot be written: {error}; see that it may be"));
    }
    let known = fs::read_to_string(list)
        .map_err(|error| format!("{list} cannot be read: {error}; make it with `--write`"))?;
    let known: BTreeSet<String> = known.lines().map(str::to_owned).collect();
    let news = differences
        .difference(&known)
        .map(|line| format!("new: {line}\n"));
    let gone = known
        .difference(differences)
        .map(|line| format!("gone: {line}\n"));
    let changes: String = news.chain(gone).collect();
    if changes.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the differences from quinn's interface are not those in {list}:\n{changes}if they are \
         meant, write the tables of the page on porting, and the list with `just quinn-api --write`"
    ))
}

/// What is compared, and where the page says how it differs.
const COLUMNS: [(&str, &str); 2] = [
    ("shim", "In quinn's place"),
    ("paceline", "Names that differ"),
];

const FILES: [&str; 5] = ["published", "quinn_proto", "quinn_udp", "shim", "paceline"];

const USAGE: &str = "usage: quinn_api FOLDER-OF-JSON PAGE LIST [--write]";
