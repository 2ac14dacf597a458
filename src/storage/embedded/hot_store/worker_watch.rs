//! Notices that a worker of fjall has died.
//!
//! A worker that cannot write a table ends, and from then on the database takes no writes. The next commit fails with
//! that error, but the next commit may be late, and a commit that waits for the worker would never end. So a separate
//! thread checks the database every second. It also looks for room on a disk that was full at the start.

use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::tables::Tables;
use crate::describe;
use crate::disk_room::DiskRoom;

const LOOK_INTERVAL: Duration = Duration::from_secs(1);

pub struct WorkerWatch {
    failure: Arc<OnceLock<String>>,
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl WorkerWatch {
    pub fn start(tables: Tables, room: Arc<DiskRoom>) -> std::io::Result<Self> {
        let failure = Arc::new(OnceLock::new());
        let (stop, stopped) = sync_channel(0);
        let found = failure.clone();
        let look = move || {
            while stopped.recv_timeout(LOOK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = tables.check() {
                    let _ = found.set(describe(&error));
                    return;
                }
                room.look_again();
            }
        };
        let thread = thread::Builder::new().name("store-watch".into()).spawn(look)?;
        Ok(WorkerWatch { failure, stop: Some(stop), thread: Some(thread) })
    }

    /// The reason why the tables take no more writes, if they do not.
    pub fn failure(&self) -> Option<String> {
        self.failure.get().cloned()
    }
}

impl Drop for WorkerWatch {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;
    use crate::database::Journal;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn a_worker_that_dies_is_noticed_without_a_commit() {
        let dir = tempfile::tempdir().unwrap();
        let tables = Tables::open(dir.path(), Journal::New, 1 << 20).unwrap();
        let watch = WorkerWatch::start(tables.clone(), Arc::new(DiskRoom::look(dir.path()))).unwrap();
        tables.contents.insert("a", "row").unwrap();
        assert!(tables.check().is_ok() && watch.failure().is_none());
        fs::remove_dir_all(dir.path().join("keyspaces")).unwrap();
        tables.contents.rotate_memtable().unwrap();
        let began = Instant::now();
        while watch.failure().is_none() {
            assert!(began.elapsed() < PATIENCE, "not noticed");
            thread::sleep(Duration::from_millis(20));
        }
        assert!(watch.failure().unwrap().contains("tables cannot be written"));
    }
}
