//! How a database of fjall is opened.

use std::io;
use std::path::Path;

use fjall::Database;

use super::journal;

/// Threads that write and merge tables.
const WORKERS: usize = 1;

/// The memory, disk space and open files that a database may use.
pub struct Bounds {
    /// Blocks kept in memory for reads.
    pub cache_bytes: u64,
    /// Bytes of sealed journals beyond which tables are written early, so that journals can go. Bounds what a start
    /// replays.
    pub journals_bytes_max: u64,
    /// Table files kept open.
    pub open_files_max: usize,
}

/// The state of a database's journal, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// There is none, or this process made it just now and wrote nothing to it.
    New,
    /// A sync of it may have [failed](super::journal).
    Used,
}

/// An error unless there is a database in this folder, with its tables. Without them fjall would begin an empty one,
/// and drop what the journals have.
pub fn require(path: &Path) -> io::Result<()> {
    for file in ["version", "keyspaces/0/current"] {
        if !path.join(file).try_exists()? {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("tables/{file} is missing")));
        }
    }
    Ok(())
}

/// Opens the database in this folder, or makes it. Nothing that was read from its journal can be lost afterwards.
pub fn open(path: &Path, journal: Journal, bounds: &Bounds) -> fjall::Result<Database> {
    if journal == Journal::Used {
        journal::write_anew(path)?;
    }
    Database::builder(path)
        .cache_size(bounds.cache_bytes)
        .max_journaling_size(bounds.journals_bytes_max)
        .max_cached_files(Some(bounds.open_files_max))
        .worker_threads(WORKERS)
        .open()
}
