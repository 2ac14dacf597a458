//! The directory everything is kept in: who has it, and in what format.
//!
//! ```text
//! lock              held while the store is open; holds the pid of who has it
//! store/format      the version of all that is beside it
//! store/tables/     the tables
//! ```
//!
//! `store` is made as `store.new` and renamed when it is complete, so that a process killed at its first start leaves
//! nothing behind that the next start could not tell from a damaged store.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::open_error::OpenError;

/// What a data directory may hold before there is a store in it.
const KNOWN_NAMES: [&str; 7] =
    ["lock", "store", "store.new", "development-key", "revocations.json", "revocations.json.new", "lost+found"];
const FORMAT: &str = "1";

/// A data directory that is ours until this is dropped.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    _lock: File,
}

impl DataDir {
    /// Takes the directory, and makes it if it is missing.
    pub fn take(path: &Path) -> Result<Self, OpenError> {
        let unusable = |source| OpenError::unusable(path, source);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
        if let Some(found) = foreign_name(path).map_err(unusable)? {
            return Err(OpenError::Foreign { path: path.to_owned(), found });
        }
        let mut lock = private_file(&path.join("lock")).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::InUse { path: path.to_owned(), holder: holder(&mut lock) });
            }
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        }
        sign(&mut lock).map_err(unusable)?;
        Ok(DataDir { path: path.to_owned(), _lock: lock })
    }

    /// The folder of the tables, which `make` makes when there is no store yet.
    pub fn tables(&self, make: impl FnOnce(&Path) -> Result<(), OpenError>) -> Result<PathBuf, OpenError> {
        let store = self.path.join("store");
        if store.try_exists().map_err(|source| self.unusable(source))? {
            self.check_format(&store)?;
        } else {
            let draft = self.path.join("store.new");
            self.clear_draft(&draft).map_err(|source| self.unusable(source))?;
            make(&draft.join("tables"))?;
            self.adopt(&draft, &store).map_err(|source| self.unusable(source))?;
        }
        Ok(store.join("tables"))
    }

    fn check_format(&self, store: &Path) -> Result<(), OpenError> {
        let found = match fs::read(store.join("format")) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).trim_end().chars().take(40).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::from("none"),
            Err(source) => return Err(self.unusable(source)),
        };
        if found != FORMAT {
            return Err(OpenError::Format { path: self.path.clone(), found, known: FORMAT });
        }
        Ok(())
    }

    fn clear_draft(&self, draft: &Path) -> io::Result<()> {
        match fs::remove_dir_all(draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        DirBuilder::new().mode(0o700).create(draft)
    }

    fn adopt(&self, draft: &Path, store: &Path) -> io::Result<()> {
        let mut format = private_file(&draft.join("format"))?;
        format.write_all(format!("{FORMAT}\n").as_bytes())?;
        format.sync_all()?;
        File::open(draft)?.sync_all()?;
        fs::rename(draft, store)?;
        File::open(&self.path)?.sync_all()
    }

    fn unusable(&self, source: io::Error) -> OpenError {
        OpenError::unusable(&self.path, source)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The name of something that tells that the directory is not ours to write in.
fn foreign_name(path: &Path) -> io::Result<Option<String>> {
    let mut foreign = None;
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name == "store" {
            return Ok(None);
        }
        if !KNOWN_NAMES.contains(&name.as_str()) {
            foreign = Some(name);
        }
    }
    Ok(foreign)
}

fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn sign(lock: &mut File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "{}", std::process::id())
}

fn holder(lock: &mut File) -> String {
    let mut text = String::new();
    // Somebody who has just taken the lock may not have signed it yet.
    let pid = lock.read_to_string(&mut text).ok().and_then(|_| text.trim().parse::<u32>().ok());
    pid.map_or_else(|| String::from("another process"), |pid| format!("process {pid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_nothing(tables: &Path) -> Result<(), OpenError> {
        fs::create_dir(tables).unwrap();
        Ok(())
    }

    #[test]
    fn a_second_taker_is_told_the_pid_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let first = DataDir::take(dir.path()).unwrap();
        let message = DataDir::take(dir.path()).unwrap_err().to_string();
        assert!(message.contains(&format!("in use by process {}", std::process::id())), "{message}");
        drop(first);
        DataDir::take(dir.path()).unwrap();
    }

    #[test]
    fn it_is_made_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("new/data");
        DataDir::take(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn an_unknown_format_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let taken = DataDir::take(dir.path()).unwrap();
        taken.tables(make_nothing).unwrap();
        fs::write(dir.path().join("store/format"), "2\n").unwrap();
        let error = taken.tables(make_nothing).unwrap_err();
        assert!(matches!(error, OpenError::Format { ref found, .. } if found == "2"), "{error}");
    }

    #[test]
    fn a_store_without_a_format_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let taken = DataDir::take(dir.path()).unwrap();
        fs::create_dir(dir.path().join("store")).unwrap();
        assert!(matches!(taken.tables(make_nothing), Err(OpenError::Format { .. })));
    }

    #[test]
    fn a_directory_of_something_else_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thesis.tex"), "").unwrap();
        let error = DataDir::take(dir.path()).unwrap_err();
        assert!(matches!(error, OpenError::Foreign { ref found, .. } if found == "thesis.tex"), "{error}");
        assert!(!dir.path().join("lock").exists());
    }

    #[test]
    fn what_cannot_be_a_directory_is_one_clear_line() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let message = DataDir::take(&dir.path().join("file")).unwrap_err().to_string();
        assert!(message.contains("cannot be used") && !message.contains('\n'), "{message}");
    }

    #[test]
    fn a_store_that_was_not_completed_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let taken = DataDir::take(dir.path()).unwrap();
        fs::create_dir(dir.path().join("store.new")).unwrap();
        fs::write(dir.path().join("store.new/half"), "").unwrap();
        assert!(taken.tables(make_nothing).unwrap().is_dir());
        assert!(!dir.path().join("store/half").exists());
    }
}
