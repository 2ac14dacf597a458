//! A folder of the data directory that holds one database: in what format, and made as a whole.
//!
//! ```text
//! NAME/format      the version of all that is beside it
//! NAME/tables/     the tables
//! ```
//!
//! It is made as `NAME.new` and renamed when it is complete, so that a process killed at its first start leaves nothing
//! behind that the next start could not tell from a damaged store.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::data_dir::private_file;
use super::database::{self, Journal};
use super::open_error::OpenError;

const FORMAT: &str = "1";

/// A folder of a data directory that this process has taken.
#[derive(Debug)]
pub struct Folder<'a> {
    data_dir: &'a Path,
    name: &'static str,
}

impl<'a> Folder<'a> {
    pub fn of(data_dir: &'a Path, name: &'static str) -> Self {
        Folder { data_dir, name }
    }

    /// The folder of the tables.
    pub fn tables(&self) -> PathBuf {
        self.data_dir.join(self.name).join("tables")
    }

    /// Opens the tables by `open`, which also makes them when there are none yet.
    pub fn open<T>(&self, open: impl Fn(&Path, Journal) -> Result<T, OpenError>) -> Result<T, OpenError> {
        let folder = self.data_dir.join(self.name);
        let journal = if folder.try_exists().map_err(|source| self.unusable(source))? {
            self.check_made(&folder)?;
            Journal::Used
        } else {
            let draft = self.data_dir.join(format!("{}.new", self.name));
            self.clear_draft(&draft).map_err(|source| self.unusable(source))?;
            drop(open(&draft.join("tables"), Journal::New)?);
            self.adopt(&draft, &folder).map_err(|source| self.unusable(source))?;
            Journal::New
        };
        open(&self.tables(), journal)
    }

    /// Whether what is there can be opened by its format.
    pub fn check(&self) -> Result<(), OpenError> {
        let folder = self.data_dir.join(self.name);
        match folder.try_exists().map_err(|source| self.unusable(source))? {
            true => self.check_made(&folder),
            false => Ok(()),
        }
    }

    fn check_made(&self, folder: &Path) -> Result<(), OpenError> {
        self.check_format(folder)?;
        database::require(&folder.join("tables")).map_err(|missing| OpenError::of_tables(folder, missing.into()))
    }

    fn check_format(&self, folder: &Path) -> Result<(), OpenError> {
        let found = match fs::read(folder.join("format")) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).trim_end().chars().take(40).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::from("none"),
            Err(source) => return Err(self.unusable(source)),
        };
        if found != FORMAT {
            return Err(OpenError::Format { path: folder.to_owned(), found, known: FORMAT });
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

    fn adopt(&self, draft: &Path, folder: &Path) -> io::Result<()> {
        let mut format = private_file(&draft.join("format"))?;
        format.write_all(format!("{FORMAT}\n").as_bytes())?;
        format.sync_all()?;
        File::open(draft)?.sync_all()?;
        fs::rename(draft, folder)?;
        File::open(self.data_dir)?.sync_all()
    }

    fn unusable(&self, source: io::Error) -> OpenError {
        OpenError::unusable(self.data_dir, source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: database::Bounds =
        database::Bounds { cache_bytes: 1 << 20, journals_bytes_max: 64 << 20, open_files_max: 16 };

    fn open(tables: &Path, journal: Journal) -> Result<(), OpenError> {
        database::open(tables, journal, &BOUNDS).map(drop).map_err(|error| OpenError::of_tables(tables, error))
    }

    #[test]
    fn a_journal_is_new_until_it_is_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::of(dir.path(), "store");
        let opened = std::cell::RefCell::new(Vec::new());
        let noted = |tables: &Path, journal| {
            opened.borrow_mut().push(journal);
            open(tables, journal)
        };
        folder.open(noted).unwrap();
        folder.open(noted).unwrap();
        assert_eq!(opened.take(), [Journal::New, Journal::New, Journal::Used], "the draft, the store, and once more");
    }

    #[test]
    fn an_unknown_format_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::of(dir.path(), "store");
        folder.open(open).unwrap();
        fs::write(dir.path().join("store/format"), "2\n").unwrap();
        let error = folder.open(open).unwrap_err();
        assert!(matches!(error, OpenError::Format { ref found, .. } if found == "2"), "{error}");
    }

    #[test]
    fn a_folder_without_a_format_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("store")).unwrap();
        let error = Folder::of(dir.path(), "store").open(open).unwrap_err();
        assert!(matches!(error, OpenError::Format { .. }), "{error}");
    }

    #[test]
    fn a_folder_without_its_tables_is_refused_and_unchanged() {
        for missing in ["store/tables", "store/tables/keyspaces", "store/tables/version"] {
            let dir = tempfile::tempdir().unwrap();
            let folder = Folder::of(dir.path(), "store");
            folder.open(open).unwrap();
            let away = dir.path().join("away");
            fs::rename(dir.path().join(missing), &away).unwrap();
            for refused in [folder.open(open), folder.check()] {
                let error = refused.unwrap_err().to_string();
                assert!(error.contains("store cannot be opened") && error.contains("is missing"), "{error}");
            }
            fs::rename(&away, dir.path().join(missing)).unwrap();
            folder.open(open).unwrap();
        }
    }

    #[test]
    fn an_incomplete_folder_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("store.new")).unwrap();
        fs::write(dir.path().join("store.new/half"), "").unwrap();
        let folder = Folder::of(dir.path(), "store");
        folder.open(open).unwrap();
        assert!(folder.tables().is_dir());
        assert!(!dir.path().join("store/half").exists());
    }
}
