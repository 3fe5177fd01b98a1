use std::fs;
use std::path::{Path, PathBuf};

/// A text file of the repository.
#[derive(Debug, Clone)]
pub(crate) struct SourceFile {
    /// Path from the repository's root, with `/`.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
}

impl SourceFile {
    /// A file that exists only in a test.
    #[cfg(test)]
    pub(crate) fn sample(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the whole file is test code: `tests.rs`, or anything below a folder `tests`.
    pub(crate) fn is_test(&self) -> bool {
        self.path
            .split('/')
            .any(|part| part == "tests" || part == "tests.rs")
    }
}

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package of whole-system tests lies one folder below the root")
        .to_owned()
}

/// Every text file of the repository, sorted by path.
///
/// Left out are git's own folder, what `.gitignore` names at the root, and cargo's target
/// folders wherever they are.
pub(crate) fn files() -> Vec<SourceFile> {
    let mut found = Vec::new();
    collect(&root(), "", &ignored(&root()), &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn ignored(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join(".gitignore")).expect("the root has a .gitignore");
    let names = text.lines().filter_map(|line| line.strip_prefix('/'));
    names.chain([".git"]).map(str::to_owned).collect()
}

fn collect(folder: &Path, prefix: &str, ignored: &[String], found: &mut Vec<SourceFile>) {
    // Cargo marks its target folders so.
    if folder.join("CACHEDIR.TAG").exists() {
        return;
    }
    for entry in fs::read_dir(folder).expect("a folder of the repository is readable") {
        let entry = entry.expect("a folder of the repository is readable");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if ignored.contains(&path) {
            continue;
        }
        let kind = entry.file_type().expect("a directory entry has a type");
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), ignored, found);
        } else if kind.is_file() && is_text(&name) {
            let text = fs::read_to_string(entry.path())
                .unwrap_or_else(|error| panic!("{path}:1: a text file is UTF-8: {error}"));
            found.push(SourceFile { path, text });
        }
    }
}

fn is_text(name: &str) -> bool {
    match name.rsplit_once('.') {
        None => true,
        Some(("", _)) => true,
        Some((_, extension)) => TEXT_EXTENSIONS.contains(&extension),
    }
}

const TEXT_EXTENSIONS: [&str; 15] = [
    "c", "css", "csv", "h", "html", "js", "json", "lock", "md", "rs", "sh", "snap", "svg", "toml",
    "yml",
];

#[test]
fn the_walk_finds_sources_and_leaves_out_build_output() {
    let paths: Vec<String> = files().into_iter().map(|file| file.path).collect();
    for path in [".ci/run", "Cargo.toml", "crates/units/src/lib.rs"] {
        assert!(paths.iter().any(|p| p == path), "{path} was not found");
    }
    assert!(!paths.iter().any(|path| path.starts_with("target/")));
}

#[test]
fn test_files_are_known_by_their_path() {
    let is_test = |path: &str| SourceFile::sample(path, "").is_test();
    assert!(is_test("crates/cc-core/src/cubic/tests.rs"));
    assert!(is_test("crates/transport/tests/loopback.rs"));
    assert!(!is_test("crates/cc-core/src/cubic.rs"));
}
