//! How far a transfer has come, in a file beside it, so that the next one goes on there.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::TransferError;

pub struct ProgressFile(PathBuf);

impl ProgressFile {
    pub fn new(path: PathBuf) -> Self {
        ProgressFile(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// `None`: there is none.
    pub fn load<T: DeserializeOwned>(&self) -> Result<Option<T>, TransferError> {
        let text = match fs::read(&self.0) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| TransferError::Read(self.0.clone(), error))?,
        };
        let parsed = serde_json::from_slice(&text);
        parsed.map(Some).map_err(|error| TransferError::Progress(self.0.clone(), error.to_string()))
    }

    /// As a whole or not at all.
    pub fn save<T: Serialize>(&self, progress: &T) -> Result<(), TransferError> {
        let draft = beside(&self.0, ".new");
        let write = || -> io::Result<()> {
            let mut file = File::create(&draft)?;
            file.write_all(&serde_json::to_vec(progress)?)?;
            file.sync_all()?;
            fs::rename(&draft, &self.0)
        };
        write().map_err(|error| TransferError::Write(self.0.clone(), error))
    }

    pub fn remove(&self) -> Result<(), TransferError> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(TransferError::Write(self.0.clone(), error)),
            _ => Ok(()),
        }
    }
}

/// The file whose name has `ending` after that of `path`.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_there_until_it_is_removed_and_nothing_else_is_taken_for_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = ProgressFile::new(beside(&directory.path().join("users.ndjson"), ".import"));
        assert_eq!(file.load::<u64>().expect("none"), None);
        file.save(&7_u64).expect("saved");
        assert_eq!(file.load::<u64>().expect("kept"), Some(7));
        fs::write(file.path(), "{").expect("a file");
        assert!(matches!(file.load::<u64>(), Err(TransferError::Progress(..))));
        file.remove().expect("removed");
        file.remove().expect("there is none");
    }
}
