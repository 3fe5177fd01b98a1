//! What a peer may name: nothing outside the directory, on either side.

use super::protocol::{Entry, MAX_FILES, SyncError};
use std::fs::{self, Metadata};
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A path below a directory as a peer has written it, without a look at the disk; "" is the
/// directory itself.
pub(crate) fn relative(text: &str) -> Result<PathBuf, SyncError> {
    let refused = |why: &str| {
        let text: String = text.chars().take(100).collect();
        SyncError::Refused(format!(
            "{text:?} {why}; expected a path below the directory, such as music/song.ogg"
        ))
    };
    if text.len() > MAX_PATH {
        return Err(refused("is too long"));
    }
    // Windows has other separators and streams behind a colon, and C ends strings at a zero.
    if text.contains(['\\', ':', '\0']) {
        return Err(refused(
            "has a character that not every system takes in a name",
        ));
    }
    let path = Path::new(text);
    match path
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
    {
        true => Ok(path.to_owned()),
        false => Err(refused("leads out of the directory")),
    }
}

/// The file or directory below `root`, which is canonical, wherever symbolic links lead.
///
/// Nobody but the server's owner may write there: a link that is made before the file is opened is
/// followed.
pub(crate) fn resolve(root: &Path, text: &str) -> Result<PathBuf, SyncError> {
    let missing = |_| SyncError::Refused(format!("{text:?} does not exist; list the directory"));
    let found = root.join(relative(text)?);
    let found = fs::canonicalize(found).map_err(missing)?;
    if !found.starts_with(root) {
        return Err(SyncError::Refused(format!(
            "{text:?} is a link out of the directory; copy what it names"
        )));
    }
    Ok(found)
}

/// The files at or below a path, without those whose download is not finished, and without what
/// links lead out to.
pub(crate) fn list(root: &Path, text: &str) -> Result<Vec<Entry>, SyncError> {
    let mut files = Vec::new();
    let mut pending = vec![text.trim_end_matches('/').to_owned()];
    while let Some(text) = pending.pop() {
        let path = resolve(root, &text)?;
        let metadata = fs::metadata(&path)?;
        if metadata.is_file() && !is_part(&path) {
            files.push(entry(text, &metadata));
        } else if metadata.is_dir() {
            for child in fs::read_dir(&path)? {
                let child = child?;
                // A link to a directory may lead back up, for ever.
                let name = child.file_name().into_string();
                if let (Ok(name), false) = (name, child.file_type()?.is_symlink()) {
                    let parent = if text.is_empty() { "" } else { "/" };
                    pending.push(format!("{text}{parent}{name}"));
                }
            }
        }
        if files.len() + pending.len() > MAX_FILES {
            let text = format!("there are more than {MAX_FILES} files; ask for fewer directories");
            return Err(SyncError::Refused(text));
        }
    }
    Ok(files)
}

/// Where a file is until all of it is there.
pub(crate) fn part_of(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

fn is_part(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "part")
}

fn entry(path: String, metadata: &Metadata) -> Entry {
    Entry {
        path,
        size: metadata.len(),
        modified: modified(metadata),
    }
}

/// In whole seconds since 1970; zero before that, and where the system does not know.
pub(crate) fn modified(metadata: &Metadata) -> u64 {
    let modified = metadata.modified().ok();
    let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_secs())
}

/// Bytes; Linux takes no more.
const MAX_PATH: usize = 4_096;
