//! qlog files in `QLOGDIR`, where the runner wants them.

use paceline::{QlogConfig, QlogStream};
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A file for the next connection, if they are wanted and it can be made.
pub(crate) fn begin() -> Option<QlogStream> {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    let directory = PathBuf::from(std::env::var_os("QLOGDIR").filter(|name| !name.is_empty())?);
    let role = std::env::var("ROLE").unwrap_or_default();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    // The runner's is `/logs/qlog`, and has to be made.
    std::fs::create_dir_all(&directory).ok()?;
    let file = File::create(directory.join(format!("{role}-{number}.sqlog"))).ok()?;
    let mut config = QlogConfig::default();
    config.writer(Box::new(BufWriter::new(file)));
    config.into_stream()
}
