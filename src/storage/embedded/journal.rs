//! Repair of journals after a failed sync.
//!
//! The kernel reports a page that it could not write once, and takes it for written from then on. The page stays
//! readable until the machine loses power, and a second sync of the file succeeds without writing it. A database that
//! is opened again would find such data in its journal, build on it, and lose both: after a power cut a journal ends at
//! its first hole. So the journal is written anew, in place, before it is used again.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const CHUNK_BYTES: usize = 1 << 20;
/// An empty chunk, to find the end of a journal.
static EMPTY: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];
/// The newest journal may have been begun just after the sync failed. No commit follows that failure, so there is no
/// third.
const JOURNALS_MAX: usize = 2;

/// Writes what can be read of the newest journals in this folder of tables once more, and syncs it. The same bytes in
/// the same places: it takes no room on the disk, and may be broken off at any time. Nothing may have the journals
/// open.
pub fn write_anew(tables: &Path) -> io::Result<()> {
    newest(tables)?.iter().try_for_each(|journal| write_file_anew(journal))
}

fn write_file_anew(journal: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(journal)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut at = 0;
    loop {
        match file.read_at(&mut chunk, at) {
            Ok(0) => break,
            Ok(bytes) => {
                // A journal is as long as it may become, and empty after its end.
                if chunk[..bytes] != EMPTY[..bytes] {
                    file.write_all_at(&chunk[..bytes], at)?;
                }
                at += bytes as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    file.sync_all()?;
    sync_parent(journal)
}

/// Syncs the folder, since the failed sync may have been that of the folder.
fn sync_parent(journal: &Path) -> io::Result<()> {
    journal.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// fjall numbers its journals: `7.jnl`. None in a folder that is yet to be made.
fn newest(tables: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(tables) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut journals = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let number = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse::<u64>().ok());
        if path.extension().is_some_and(|extension| extension == "jnl") {
            journals.extend(number.map(|number| (number, path)));
        }
    }
    journals.sort_unstable_by(|one, other| other.cmp(one));
    Ok(journals.into_iter().take(JOURNALS_MAX).map(|(_, path)| path).collect())
}

#[cfg(test)]
pub mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::time::SystemTime;

    use super::*;

    /// Whether nothing was written to the only journal in this folder of tables.
    pub fn is_unwritten(tables: &Path) -> bool {
        let journals = newest(tables).unwrap();
        let [journal] = &journals[..] else { panic!("{journals:?}") };
        fs::read(journal).unwrap().iter().all(|byte| *byte == 0)
    }

    #[test]
    fn the_two_newest_journals_are_written_and_stay_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let mut bytes = vec![7; 3 * CHUNK_BYTES + 5];
        bytes[CHUNK_BYTES..2 * CHUNK_BYTES].fill(0);
        bytes.resize(5 * CHUNK_BYTES, 0);
        for name in ["8.jnl", "9.jnl", "10.jnl", "version"] {
            fs::write(at(name), &bytes).unwrap();
            File::options().write(true).open(at(name)).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        let inode = fs::metadata(at("10.jnl")).unwrap().ino();
        write_anew(dir.path()).unwrap();
        for (name, anew) in [("8.jnl", false), ("9.jnl", true), ("10.jnl", true), ("version", false)] {
            let written = fs::metadata(at(name)).unwrap().modified().unwrap() != SystemTime::UNIX_EPOCH;
            assert_eq!(written, anew, "{name}");
            assert!(fs::read(at(name)).unwrap() == bytes, "{name}");
        }
        assert_eq!(fs::metadata(at("10.jnl")).unwrap().ino(), inode);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4);
    }

    #[test]
    fn a_folder_without_a_journal_is_accepted() {
        let dir = tempfile::tempdir().unwrap();
        write_anew(dir.path()).unwrap();
        write_anew(&dir.path().join("missing")).unwrap();
    }
}
