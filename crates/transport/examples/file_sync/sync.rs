//! All files: which, in what order, how many at a time, and what happens when the network fails.

use super::download::{Fetched, download};
use super::paths::{modified, relative};
use super::protocol::{Entry, Reply, Request, SyncError};
use super::session::Session;
use futures_util::future::try_join_all;
use indicatif::ProgressBar;
use std::cmp::Reverse;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::sleep;

/// What is to be fetched, and how.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// A file or directory of the server's; "" is everything.
    pub(crate) path: String,
    /// The directory that the files go to.
    pub(crate) into: PathBuf,
    /// Paths that begin so come before all others.
    pub(crate) first: Option<String>,
    /// Files at the same time, at least 1.
    pub(crate) concurrency: usize,
}

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Files fetched.
    pub(crate) files: u64,
    /// Files that were there already, by size and time of the last change.
    pub(crate) unchanged: u64,
    /// Bytes that the server has sent.
    pub(crate) received: u64,
    /// Bytes that an earlier run had left.
    pub(crate) resumed: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            files,
            unchanged,
            received,
            resumed,
        } = self;
        write!(
            f,
            "{files} files fetched, {unchanged} unchanged, {received} bytes received, \
             {resumed} resumed"
        )
    }
}

/// Has `plan.into` hold what the server has.
///
/// The first file that cannot be had ends it; the others of that time stay as they are, to be
/// resumed.
pub(crate) async fn sync(
    session: &Session,
    plan: &Plan,
    progress: &ProgressBar,
) -> Result<Summary, SyncError> {
    let path = plan.path.clone();
    let list = Request::List { path };
    let files = persistently(session, || async {
        match session.ask(&list).await? {
            (Reply::Files(files), _) => Ok(files),
            _ => Err(SyncError::Refused(
                "the server's answer is no list".to_owned(),
            )),
        }
    })
    .await?;

    let mut summary = Summary::default();
    let mut wanted = Vec::new();
    for entry in files {
        // A server is not trusted to name only what is below the directory.
        let target = plan.into.join(relative(&entry.path)?);
        match is_unchanged(&entry, &target) {
            true => summary.unchanged += 1,
            false => wanted.push((entry, target)),
        }
    }
    progress.set_length(wanted.iter().map(|(entry, _)| entry.size).sum());
    // Small files first: most of them are complete soon, whenever it is interrupted.
    wanted.sort_by_key(|(entry, _)| (Reverse(is_first(plan, entry)), entry.size));
    for fetched in fetch_all(session, plan, &wanted, progress).await? {
        summary.files += 1;
        summary.received += fetched.received;
        summary.resumed += fetched.resumed;
    }
    Ok(summary)
}

/// At most `plan.concurrency` at a time, in this order.
async fn fetch_all(
    session: &Session,
    plan: &Plan,
    wanted: &[(Entry, PathBuf)],
    progress: &ProgressBar,
) -> Result<Vec<Fetched>, SyncError> {
    let next = AtomicUsize::new(0);
    let worker = || async {
        let mut done = Vec::new();
        while let Some((entry, target)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            let priority = priority(is_first(plan, entry), entry.size);
            let fetch = || download(session, entry, priority, target, progress);
            let fetched = persistently(session, fetch).await;
            done.push(fetched.map_err(|error| error.at(target))?);
        }
        Ok::<_, SyncError>(done)
    };
    let workers = (0..plan.concurrency.max(1)).map(|_| worker());
    let done: Vec<Vec<Fetched>> = try_join_all(workers).await?;
    Ok(done.concat())
}

/// Tries until it works, or until [`ATTEMPTS`] in a row have brought nothing.
async fn persistently<T, F>(
    session: &Session,
    mut attempt: impl FnMut() -> F,
) -> Result<T, SyncError>
where
    F: Future<Output = Result<T, SyncError>>,
{
    let mut failures = 0;
    loop {
        let before = session.received();
        match attempt().await {
            Err(SyncError::Interrupted(_)) if failures + 1 < ATTEMPTS => {}
            result => return result,
        }
        failures = if session.received() > before {
            0
        } else {
            failures + 1
        };
        sleep(FIRST_PAUSE * 2_u32.pow(failures)).await;
    }
}

fn is_first(plan: &Plan, entry: &Entry) -> bool {
    let first = plan.first.as_ref();
    first.is_some_and(|prefix| entry.path.starts_with(prefix))
}

/// The stream's: 40 for files of no bytes, one less for each doubling, and 50 more for what comes
/// first.
pub(crate) fn priority(is_first: bool, size: u64) -> i32 {
    let doublings = (u64::BITS - size.leading_zeros()).min(40) as i32;
    i32::from(is_first) * 50 + 40 - doublings
}

/// As rsync judges it: by size and time.
fn is_unchanged(entry: &Entry, target: &Path) -> bool {
    let metadata = std::fs::metadata(target);
    metadata.is_ok_and(|metadata| {
        metadata.is_file() && metadata.len() == entry.size && modified(&metadata) == entry.modified
    })
}

const ATTEMPTS: u32 = 5;
/// Doubled after each failure: with the idle timeout, a minute or two in all.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
