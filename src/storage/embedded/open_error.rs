//! Why the store could not be opened, and how to mend it; one line each.

use std::io;
use std::path::{Path, PathBuf};

use super::describe;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the data directory {} cannot be used: {source}; make it a directory that this user can write, or set \
         store.data_dir to another one", path.display()
    )]
    Unusable { path: PathBuf, source: io::Error },

    #[error(
        "the disk of the data directory {} is full ({source}); free space on it, or set store.data_dir to a directory \
         on another one", path.display()
    )]
    Full { path: PathBuf, source: io::Error },

    #[error(
        "the data directory {} is in use by {holder}: stop it, or set store.data_dir to another directory",
        path.display()
    )]
    InUse { path: PathBuf, holder: String },

    #[error(
        "the directory {} contains other files ({found}); set store.data_dir to a new or empty directory",
        path.display()
    )]
    Foreign { path: PathBuf, found: String },

    #[error(
        "the data in {} has the format {found:?}, this version reads {known:?}; use the version that wrote \
         it, or set store.data_dir to another directory", path.display()
    )]
    Format { path: PathBuf, found: String, known: &'static str },

    #[error(
        "the clock is {} before the newest commit in {}; correct the clock, or start once with \
         store.accept_clock_before_store = true", humantime::format_duration(*behind), path.display()
    )]
    Clock { path: PathBuf, behind: std::time::Duration },

    #[error("the store in {} cannot be opened: {why}; if that persists, restore the directory from a backup", path.display())]
    Damaged { path: PathBuf, why: String },
}

impl OpenError {
    /// An I/O error at the directory at `path`, in whatever operation.
    pub fn unusable(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if is_full(&source) { OpenError::Full { path, source } } else { OpenError::Unusable { path, source } }
    }

    /// An error of the tables in the directory at `path`.
    pub fn of_tables(path: &Path, error: fjall::Error) -> Self {
        match error {
            fjall::Error::Io(source) | fjall::Error::Storage(fjall::LsmError::Io(source)) if is_full(&source) => {
                OpenError::Full { path: path.to_owned(), source }
            }
            error => OpenError::Damaged { path: path.to_owned(), why: describe(&error) },
        }
    }
}

/// Whether there was no room for what was to be written.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
