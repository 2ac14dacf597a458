//! The data directory, and its lock.
//!
//! ```text
//! lock              locked while the store is open; holds the pid of the process
//! store/, events/   a database each, see [`super::folder`]
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::open_error::OpenError;

/// The names that a data directory may hold before there is a store in it.
const KNOWN_NAMES: [&str; 12] = [
    "lock",
    "store",
    "store.new",
    "events",
    "events.new",
    "positions",
    "positions.new",
    "development-key",
    "control-token",
    "revocations.json",
    "revocations.json.new",
    "lost+found",
];

/// How long a start waits for the lock, since [`DataDir::look`] holds it for a moment.
const LOOK_TIME_MAX: Duration = Duration::from_millis(200);

/// A data directory that this process holds until this is dropped.
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
        let until = Instant::now() + LOOK_TIME_MAX;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(LOOK_TIME_MAX / 10),
                Err(TryLockError::WouldBlock) => {
                    return Err(OpenError::InUse { path: path.to_owned(), holder: holder(&mut lock) });
                }
                Err(TryLockError::Error(source)) => return Err(unusable(source)),
            }
        }
        sign(&mut lock).map_err(unusable)?;
        Ok(DataDir { path: path.to_owned(), _lock: lock })
    }

    /// Checks as [`DataDir::take`] does, without changing anything. `Some` names the process that holds the directory.
    pub fn look(path: &Path) -> Result<Option<String>, OpenError> {
        let unusable = |source| OpenError::unusable(path, source);
        try_writing(path).map_err(unusable)?;
        if !path.is_dir() {
            return Ok(None);
        }
        if let Some(found) = foreign_name(path).map_err(unusable)? {
            return Err(OpenError::Foreign { path: path.to_owned(), found });
        }
        let mut lock = match OpenOptions::new().read(true).write(true).open(path.join("lock")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(unusable)?,
        };
        match lock.try_lock() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(holder(&mut lock))),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Checks that files can be written: makes an unnamed file in the directory, or in the nearest parent that exists.
fn try_writing(path: &Path) -> io::Result<()> {
    for ancestor in path.ancestors() {
        let ancestor = if ancestor.as_os_str().is_empty() { Path::new(".") } else { ancestor };
        match fs::metadata(ancestor) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found.and_then(|_| tempfile::tempfile_in(ancestor)).map(drop),
        }
    }
    Ok(())
}

/// The name of a file that shows that the directory belongs to something else.
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

/// Opens a file that only its owner may read and write, and makes it if it is missing.
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
    // A process that has just taken the lock may not have written its pid yet.
    let pid = lock.read_to_string(&mut text).ok().and_then(|_| text.trim().parse::<u32>().ok());
    pid.map_or_else(|| String::from("another process"), |pid| format!("process {pid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_in_use_is_refused_with_the_pid_of_its_process() {
        let dir = tempfile::tempdir().unwrap();
        let first = DataDir::take(dir.path()).unwrap();
        let message = DataDir::take(dir.path()).unwrap_err().to_string();
        assert!(message.contains(&format!("in use by process {}", std::process::id())), "{message}");
        drop(first);
        DataDir::take(dir.path()).unwrap();
    }

    #[test]
    fn a_data_directory_is_made_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("new/data");
        DataDir::take(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_directory_with_foreign_files_is_refused_and_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thesis.tex"), "").unwrap();
        let error = DataDir::take(dir.path()).unwrap_err();
        assert!(matches!(error, OpenError::Foreign { ref found, .. } if found == "thesis.tex"), "{error}");
        assert!(!dir.path().join("lock").exists());
    }

    /// A gateway on Redis and Kafka keeps nothing else there.
    #[test]
    fn a_directory_with_only_our_secrets_is_accepted() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["development-key", "control-token"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        DataDir::take(dir.path()).unwrap();
    }

    #[test]
    fn an_unusable_directory_is_reported_in_one_line() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let message = DataDir::take(&dir.path().join("file")).unwrap_err().to_string();
        assert!(message.contains("cannot be used") && !message.contains('\n'), "{message}");
    }
}
