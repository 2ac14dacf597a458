//! Whether the disk had room when a store was opened, and has it by now.
//!
//! A store whose write has failed cannot go on, and on a full disk the first write fails. So a store that is opened on
//! a full disk writes nothing until there is room. A disk that fills up later fails a write, as a broken one does.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::open_error::is_full;
use storage::store_error::StoreError;

/// Bytes that must be free: hundreds of commits, so that freed space is not used up by the next one.
const ROOM_BYTES: usize = 256 << 10;

/// Writes to the directory and leaves nothing there.
type Probe = Box<dyn Fn(&Path) -> io::Result<()> + Send + Sync>;

pub struct DiskRoom {
    data_dir: PathBuf,
    probe: Probe,
    is_full: AtomicBool,
}

impl DiskRoom {
    pub fn look(data_dir: &Path) -> Self {
        Self::with(data_dir, Box::new(write_and_remove))
    }

    pub(crate) fn with(data_dir: &Path, probe: Probe) -> Self {
        let room = DiskRoom { data_dir: data_dir.to_owned(), probe, is_full: AtomicBool::new(false) };
        if room.finds_none() {
            room.is_full.store(true, Ordering::Relaxed);
            tracing::error!(event = "disk_full", data_dir = %data_dir.display(), "disk full; acks suspended until there is room");
        }
        room
    }

    /// To be called now and then. Does nothing unless the disk was full at every look so far.
    pub fn look_again(&self) {
        if !self.has_room() && !self.finds_none() {
            self.is_full.store(false, Ordering::Relaxed);
            tracing::info!(event = "disk_has_room", data_dir = %self.data_dir.display(), "the disk has room");
        }
    }

    pub fn has_room(&self) -> bool {
        !self.is_full.load(Ordering::Relaxed)
    }

    /// To be called before each write.
    pub fn require(&self) -> Result<(), StoreError> {
        match self.has_room() {
            true => Ok(()),
            false => Err(StoreError::Away(format!("the disk of {} is full", self.data_dir.display()))),
        }
    }

    /// Any other error says nothing about room.
    fn finds_none(&self) -> bool {
        (self.probe)(&self.data_dir).is_err_and(|error| is_full(&error))
    }
}

/// A quota shows only when something is written, and some file systems tell of a full disk at the sync.
fn write_and_remove(data_dir: &Path) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(data_dir)?;
    // A file system may store zeros without room for them.
    file.write_all(&[0x55; ROOM_BYTES])?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_disk_with_room_is_probed_once_and_left_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let room = DiskRoom::look(dir.path());
        assert!(room.has_room() && room.require().is_ok());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        // A missing directory is an error of another kind.
        assert!(DiskRoom::look(&dir.path().join("missing")).has_room());
    }

    #[test]
    fn a_full_disk_is_full_until_there_is_room_and_not_again_later() {
        let full = Arc::new(AtomicBool::new(true));
        let of_test = full.clone();
        let probe = move |_: &Path| match of_test.load(Ordering::Relaxed) {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        };
        let room = DiskRoom::with(Path::new("/data"), Box::new(probe));
        room.look_again();
        assert_eq!(room.require().unwrap_err().to_string(), "hot store unavailable: the disk of /data is full");
        full.store(false, Ordering::Relaxed);
        assert!(!room.has_room(), "it is not probed by those who ask");
        room.look_again();
        assert!(room.has_room());
        full.store(true, Ordering::Relaxed);
        room.look_again();
        assert!(room.has_room());
    }
}
