//! What a failed sync leaves behind.
//!
//! The kernel reports a page that it could not write once, and takes it for written then: a second sync of the same file
//! succeeds, and what was lost is still lost. Events that are appended behind such a hole would be cut off with it after
//! the loss of the machine, although they were answered. So the journal is copied into new pages before it is used again.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::storage::embedded::data_dir::private_file;

const CHUNK_BYTES: usize = 1 << 20;

/// Writes the newest journal in this folder of tables anew, as it can be read; the others were synced before it was begun.
pub fn write_anew(tables: &Path) -> io::Result<()> {
    let Some(journal) = newest(tables)? else { return Ok(()) };
    let draft = journal.with_extension("new");
    let mut copy = private_file(&draft)?;
    copy.set_len(0)?;
    // By hand: the kernel's own copying may share the pages.
    let mut from = File::open(&journal)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match from.read(&mut chunk)? {
            0 => break,
            // A journal is as long as it may become, and empty behind its end.
            bytes if chunk[..bytes].iter().all(|byte| *byte == 0) => {
                copy.seek_relative(bytes as i64)?;
            }
            bytes => copy.write_all(&chunk[..bytes])?,
        }
    }
    copy.set_len(from.stream_position()?)?;
    copy.sync_all()?;
    fs::rename(&draft, &journal)?;
    File::open(tables)?.sync_all()
}

/// fjall numbers its journals: `7.jnl`.
fn newest(tables: &Path) -> io::Result<Option<PathBuf>> {
    let mut newest = None;
    for entry in fs::read_dir(tables)? {
        let path = entry?.path();
        let number = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse::<u64>().ok());
        if path.extension().is_some_and(|extension| extension == "jnl") {
            newest = newest.max(number.map(|number| (number, path)));
        }
    }
    Ok(newest.map(|(_, path)| path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_journal_is_the_same_in_another_file() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let mut bytes = vec![7; 3 * CHUNK_BYTES + 5];
        bytes[CHUNK_BYTES..2 * CHUNK_BYTES].fill(0);
        bytes.resize(5 * CHUNK_BYTES, 0);
        fs::write(at("9.jnl"), "old").unwrap();
        fs::write(at("10.jnl"), &bytes).unwrap();
        fs::write(at("10.new"), "of an attempt that was broken off").unwrap();
        fs::write(at("version"), "").unwrap();
        let inode = |name: &str| fs::metadata(at(name)).unwrap().ino();
        let before = (inode("9.jnl"), inode("10.jnl"));
        write_anew(dir.path()).unwrap();
        assert!(fs::read(at("10.jnl")).unwrap() == bytes && !at("10.new").exists());
        assert!(inode("9.jnl") == before.0 && inode("10.jnl") != before.1);
    }

    #[test]
    fn without_a_journal_there_is_nothing_to_do() {
        write_anew(tempfile::tempdir().unwrap().path()).unwrap();
    }
}
