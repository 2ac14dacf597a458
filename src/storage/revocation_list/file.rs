//! The list as a small JSON file in the data directory.
//!
//! It is not in the store: it is needed before the first token is checked, whichever store holds the records, and a
//! revocation must work while the store takes no writes. Only the process that holds the lock of the directory writes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::{Edition, ListError, REVOCATIONS_MAX, RevocationList};
use model::ids::UserId;
use model::revocation::{Revocation, Revoked};

/// In the data directory.
pub const FILE: &str = "revocations.json";
/// The file that is being written, or was when the process was killed; never read.
pub const DRAFT: &str = "revocations.json.new";
const FORMAT: u32 = 1;

pub struct FileList {
    data_dir: PathBuf,
    /// The edition of the list, which this process alone writes. Held while the file is replaced.
    edition: Mutex<Edition>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: u32,
    revocations: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(skip_serializing_if = "Option::is_none")]
    mid: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jti: Option<String>,
    at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
}

impl FileList {
    /// The list in a data directory that this process holds.
    pub fn of(data_dir: &Path) -> Self {
        FileList { data_dir: data_dir.to_owned(), edition: Mutex::default() }
    }

    fn read(&self) -> Result<Vec<Revocation>, ListError> {
        let text = match fs::read(self.data_dir.join(FILE)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.error(format!("cannot be read: {error}"))),
        };
        // Going on without it would accept revoked tokens.
        let damaged =
            |why: String| self.error(format!("is damaged ({why}); restore it, or remove it and revoke again"));
        let document: Document = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if document.format != FORMAT {
            return Err(self.error(format!("has format {}, this version reads format {FORMAT}", document.format)));
        }
        let revocations = document.revocations.into_iter().map(Entry::parse);
        revocations
            .collect::<Option<_>>()
            .ok_or_else(|| damaged("an entry names neither a user nor a token, or both".to_owned()))
    }

    fn write(&self, revocations: &[Revocation], edition: &mut Edition) -> Result<(), ListError> {
        let document = Document { format: FORMAT, revocations: revocations.iter().map(Entry::of).collect() };
        let text = serde_json::to_vec(&document).expect("text and numbers can be written as JSON");
        self.replace(&text).map_err(|error| self.error(format!("cannot be written: {error}")))?;
        *edition += 1;
        Ok(())
    }

    /// Nothing that could panic runs under the lock but what leaves the file whole.
    fn changing(&self) -> MutexGuard<'_, Edition> {
        self.edition.lock()
    }

    fn replace(&self, text: &[u8]) -> io::Result<()> {
        let (file, draft) = (self.data_dir.join(FILE), self.data_dir.join(DRAFT));
        let mut writer = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        writer.write_all(text)?;
        writer.sync_all()?;
        fs::rename(draft, file)?;
        // The name, too, must survive.
        File::open(&self.data_dir)?.sync_all()
    }

    fn error(&self, why: String) -> ListError {
        ListError::Broken { place: self.data_dir.join(FILE).display().to_string(), why }
    }
}

impl RevocationList for FileList {
    fn load(&self, known: Option<Edition>) -> Result<Option<(Edition, Vec<Revocation>)>, ListError> {
        let edition = self.changing();
        if known == Some(*edition) {
            return Ok(None);
        }
        Ok(Some((*edition, self.read()?)))
    }

    fn add(&self, revocation: &Revocation, now_ms: u64) -> Result<Revocation, ListError> {
        let mut edition = self.changing();
        let mut revocations = self.read()?;
        let same = |other: &Revocation| other.what == revocation.what;
        if let Some(later) = revocations.iter().find(|other| same(other) && !other.gives_way_to(revocation)) {
            return Ok(later.clone());
        }
        revocations.retain(|other| other.holds(now_ms) && !same(other));
        if revocations.len() >= REVOCATIONS_MAX {
            return Err(ListError::Full);
        }
        revocations.push(revocation.clone());
        self.write(&revocations, &mut edition)?;
        Ok(revocation.clone())
    }

    fn remove(&self, what: &Revoked, upto_ms: u64) -> Result<(), ListError> {
        let mut edition = self.changing();
        let mut revocations = self.read()?;
        let before = revocations.len();
        revocations.retain(|other| other.what != *what || other.at_ms > upto_ms);
        match revocations.len() < before {
            true => self.write(&revocations, &mut edition),
            false => Ok(()),
        }
    }
}

impl Entry {
    fn of(revocation: &Revocation) -> Self {
        let (mid, jti) = match &revocation.what {
            Revoked::User(user) => (Some(user.0), None),
            Revoked::Token(id) => (None, Some(id.to_string())),
        };
        Entry { mid, jti, at: revocation.at_ms, until: revocation.until_ms }
    }

    fn parse(self) -> Option<Revocation> {
        let what = match (self.mid, self.jti) {
            (Some(mid), None) => Revoked::User(UserId(mid)),
            (None, Some(id)) => Revoked::Token(id.into()),
            _ => return None,
        };
        Some(Revocation { what, at_ms: self.at, until_ms: self.until })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Vec<Revocation> {
        let user = Revoked::User(UserId(u64::MAX));
        vec![
            Revocation { what: user, at_ms: 5, until_ms: None },
            Revocation { what: Revoked::Token("a \"token\"\n".into()), at_ms: 6, until_ms: Some(u64::MAX) },
        ]
    }

    fn add_all(list: &FileList) {
        some().iter().for_each(|revocation| drop(list.add(revocation, 0).expect("a change")));
    }

    fn all(list: &FileList) -> Vec<Revocation> {
        list.load(None).expect("a list").expect("nothing is known").1
    }

    #[test]
    fn the_file_has_the_latest_list() {
        let dir = tempfile::tempdir().expect("a directory");
        let list = FileList::of(dir.path());
        assert_eq!(all(&list), []);
        add_all(&list);
        assert_eq!(all(&FileList::of(dir.path())), some());
        list.remove(&some()[0].what, 5).expect("a change");
        assert_eq!(all(&FileList::of(dir.path())), some()[1..]);
    }

    #[test]
    fn a_process_killed_while_it_writes_leaves_the_old_list() {
        let dir = tempfile::tempdir().expect("a directory");
        let list = FileList::of(dir.path());
        add_all(&list);
        fs::write(dir.path().join(DRAFT), r#"{"format":1,"revo"#).expect("half a file");
        assert_eq!(all(&list), some());
        list.remove(&some()[1].what, 6).expect("a change over the half one");
        assert_eq!(all(&list), some()[..1]);
    }

    #[test]
    fn a_damaged_list_is_refused_in_one_line() {
        let dir = tempfile::tempdir().expect("a directory");
        let entry = |entry: &str| format!(r#"{{"format":1,"revocations":[{entry}]}}"#);
        for text in [
            "",
            "{",
            r#"{"format":2,"revocations":[]}"#,
            &entry(r#"{"at":1}"#),
            &entry(r#"{"mid":1,"jti":"a","at":1}"#),
        ] {
            fs::write(dir.path().join(FILE), text).expect("a file");
            let error = FileList::of(dir.path()).load(None).expect_err("a refusal").to_string();
            assert!(error.contains(FILE) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_an_error() {
        let error = FileList::of(Path::new("/nowhere")).add(&some()[0], 0).expect_err("no directory");
        assert!(error.to_string().contains("cannot be written"), "{error}");
    }
}
