//! The directory everything is kept in, and who has it.
//!
//! ```text
//! lock              held while the store is open; holds the pid of who has it
//! store/, events/   a database each, see [`super::folder`]
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::open_error::OpenError;

/// What a data directory may hold before there is a store in it.
const KNOWN_NAMES: [&str; 9] = [
    "lock",
    "store",
    "store.new",
    "events",
    "events.new",
    "development-key",
    "revocations.json",
    "revocations.json.new",
    "lost+found",
];

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

/// Opens a file of the owner's only, and makes it if it is missing.
pub fn private_file(path: &Path) -> io::Result<File> {
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
}
