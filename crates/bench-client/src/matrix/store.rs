//! The folder of finished cells: what survives an interruption.
//!
//! A file per cell, which is the JSON of `ab` with a word about the cell it is of, and the plan of
//! the matrix. Files appear whole or not at all, and any number of processes may write to one
//! folder: those that run the same cell in virtual time write the same bytes.

use super::cell::CellPlan;
use super::plan::MatrixPlan;
use bench_kit::clock;
use bench_kit::failure::Failure;
use bench_report::result::{AbResult, MatrixCell};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

#[derive(Debug, Clone)]
pub(crate) struct Store {
    folder: PathBuf,
}

/// What the folder has for a cell.
#[derive(Debug)]
pub(crate) enum Found {
    Nothing,
    /// Its result, and the text of its file.
    Result {
        cell: Box<MatrixCell>,
        text: String,
    },
    /// A file that is no result of it, and why.
    Unfit(String),
}

#[derive(Debug, Serialize, Deserialize)]
struct CellFile<Result> {
    #[serde(flatten)]
    result: Result,
    cell: CellMark,
}

#[derive(Debug, Serialize, Deserialize)]
struct CellMark {
    matrix: String,
    at: BTreeMap<String, String>,
    fingerprint: String,
}

impl Store {
    /// The folder, made where it is missing; files that others left half-written are removed.
    ///
    /// # Errors
    /// When it cannot be made or read.
    pub(crate) fn create(folder: &Path) -> Result<Self, Failure> {
        let store = Self::at(folder);
        let made = fs::create_dir_all(folder).and_then(|()| store.sweep());
        made.map_err(|error| store.failure(folder, &error))?;
        Ok(store)
    }

    /// The folder as it is.
    pub(crate) fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Says what the cells are of.
    ///
    /// # Errors
    /// When the disk is full, for example.
    pub(crate) fn write_plan(&self, plan: &MatrixPlan) -> Result<(), Failure> {
        self.write_json(PLAN_FILE, plan)
    }

    /// The plan that the folder was last used for.
    ///
    /// # Errors
    /// When there is none, or none of this version.
    pub(crate) fn read_plan(&self) -> Result<MatrixPlan, Failure> {
        let path = self.folder.join(PLAN_FILE);
        let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::run(format!(
                "{}: not a matrix directory: no {PLAN_FILE} in it",
                self.folder.display()
            )),
            _ => self.failure(&path, &error),
        })?;
        serde_json::from_str(&text).map_err(|error| {
            Failure::run(format!(
                "{}: not written by {}: {error}",
                path.display(),
                bench_kit::VERSION
            ))
        })
    }

    /// Keeps the result of `cell`.
    ///
    /// # Errors
    /// When the disk is full, for example; what was there before is there still.
    pub(crate) fn write(&self, cell: &CellPlan, result: &AbResult) -> Result<(), Failure> {
        let file = CellFile {
            result,
            cell: CellMark {
                matrix: cell.matrix.clone(),
                at: cell.at.iter().cloned().collect(),
                fingerprint: cell.fingerprint(),
            },
        };
        self.write_json(&cell.file_name(), &file)
    }

    /// The result of `cell`, if there is one that a start with the same plan would give.
    pub(crate) fn read(&self, cell: &CellPlan) -> Found {
        let text = match fs::read_to_string(self.folder.join(cell.file_name())) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Found::Nothing,
            Err(error) => return Found::Unfit(format!("cannot be read: {error}")),
        };
        let file: CellFile<AbResult> = match serde_json::from_str(&text) {
            Ok(file) => file,
            Err(error) => return Found::Unfit(format!("damaged: {error}")),
        };
        let result = &file.result;
        if result.version != bench_kit::VERSION {
            return Found::Unfit(format!("made by {}", result.version));
        }
        if file.cell.fingerprint != cell.fingerprint() {
            return Found::Unfit("settings changed".to_owned());
        }
        // What failed in virtual time would fail again; a real network gets another chance.
        if result.error.is_some() || !(result.is_virtual || result.complete) {
            return Found::Unfit("failed before".to_owned());
        }
        Found::Result {
            cell: Box::new(cell.summary(result)),
            text,
        }
    }

    /// The names of files that are neither the plan nor of one of `cells`.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub(crate) fn unknown_files(&self, cells: &[CellPlan]) -> Result<Vec<String>, Failure> {
        let known: Vec<String> = cells.iter().map(CellPlan::file_name).collect();
        let names = self.names();
        let names = names.map_err(|error| self.failure(&self.folder, &error))?;
        let unknown_files = names.into_iter().filter(|name| {
            name != PLAN_FILE
                && name.ends_with(".json")
                && !name.starts_with('.')
                && !known.contains(name)
        });
        Ok(unknown_files.collect())
    }

    fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(value)
            .expect("keys are strings and every figure is finite");
        text.push('\n');
        let path = self.folder.join(name);
        let written = self.replace(name, &text);
        written.map_err(|error| self.failure(&path, &error))
    }

    /// Lets `name` hold `text`, whole, or what it held before.
    fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        let stamp = clock::since_1970().as_nanos();
        let draft = format!("{DRAFT}{}-{stamp}-{name}", std::process::id());
        let draft = self.folder.join(draft);
        let written = write_through(&draft, text)
            .and_then(|()| fs::rename(&draft, self.folder.join(name)))
            // The new name is on the disk once its folder is.
            .and_then(|()| File::open(&self.folder)?.sync_all());
        if written.is_err() {
            // The draft may never have come to be.
            let _ = fs::remove_file(&draft);
        }
        written
    }

    /// Removes drafts of processes that were killed: old enough that nobody still writes them.
    fn sweep(&self) -> io::Result<()> {
        let now = clock::since_1970();
        for name in self.names()? {
            let path = self.folder.join(&name);
            let written = fs::metadata(&path).and_then(|data| data.modified());
            let written = written
                .ok()
                .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let is_old = written.is_some_and(|time| now.saturating_sub(time) > ABANDONED);
            if name.starts_with(DRAFT) && is_old {
                // Another process may have been faster.
                let _ = fs::remove_file(&path);
            }
        }
        Ok(())
    }

    /// In alphabetical order.
    fn names(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.folder)?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let mut names = names.collect::<io::Result<Vec<String>>>()?;
        names.sort();
        Ok(names)
    }

    fn failure(&self, path: &Path, error: &io::Error) -> Failure {
        Failure::run(format!("{}: {error}", path.display()))
    }
}

fn write_through(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

const PLAN_FILE: &str = "matrix.json";

/// What names of half-written files begin with.
const DRAFT: &str = ".draft-";

/// A cell is written within a second.
const ABANDONED: Duration = Duration::from_secs(3_600);
