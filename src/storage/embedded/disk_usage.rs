//! How much of the disk the embedded databases take, and how much is left.

use std::convert::Infallible;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// Measured by a thread of its own, since a disk may be slow or hang: a scrape shows what was measured last. What
/// cannot be measured is not exported.
#[derive(Debug)]
pub struct DiskUsage {
    measured: Arc<Mutex<Measured>>,
    /// The thread ends when it is dropped.
    _open: SyncSender<Infallible>,
}

/// The folders that are measured.
struct Folders {
    data_dir: PathBuf,
    /// The name of each database, and its directory.
    databases: Vec<(&'static str, PathBuf)>,
}

#[derive(Debug, Default)]
struct Measured {
    databases: Vec<(&'static str, u64)>,
    disk: Option<Disk>,
}

#[derive(Clone, Copy, Debug)]
struct Disk {
    free_bytes: u64,
    bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Database {
    store: &'static str,
}

impl DiskUsage {
    /// Measures at once, and then every `interval`. `databases`: names of directories in the data directory.
    pub fn start(
        data_dir: &Path,
        databases: impl IntoIterator<Item = (&'static str, &'static str)>,
        interval: Duration,
    ) -> io::Result<Self> {
        let databases = databases.into_iter().map(|(name, folder)| (name, data_dir.join(folder))).collect();
        let folders = Folders { data_dir: data_dir.to_owned(), databases };
        let measured = Arc::new(Mutex::new(folders.measure()));
        let (open, closed) = sync_channel::<Infallible>(0);
        let shown = measured.clone();
        thread::Builder::new().name("disk-usage".into()).spawn(move || {
            while closed.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let measured = folders.measure();
                *shown.lock() = measured;
            }
        })?;
        Ok(DiskUsage { measured, _open: open })
    }
}

impl Collector for DiskUsage {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let measured = self.measured.lock();
        let kind = ConstGauge::new(0_i64).metric_type();
        let help = "Size of an embedded database on disk, journal included";
        let mut stores = encoder.encode_descriptor("store", help, Some(&Unit::Bytes), kind)?;
        for (store, bytes) in &measured.databases {
            ConstGauge::new(*bytes as i64).encode(stores.encode_family(&Database { store })?)?;
        }
        let Some(disk) = measured.disk else { return Ok(()) };
        let mut gauge = |name, help, bytes: u64| {
            let gauge = ConstGauge::new(bytes as i64);
            gauge.encode(encoder.encode_descriptor(name, help, Some(&Unit::Bytes), kind)?)
        };
        gauge("disk_free", "Free space on the disk of the data directory", disk.free_bytes)?;
        gauge("disk_size", "Size of the disk of the data directory", disk.bytes)
    }
}

impl Folders {
    fn measure(&self) -> Measured {
        let sizes = self.databases.iter().filter_map(|(name, folder)| Some((*name, bytes_below(folder).ok()?)));
        let disk = rustix::fs::statvfs(&self.data_dir)
            .ok()
            .map(|disk| Disk { free_bytes: disk.f_bavail * disk.f_frsize, bytes: disk.f_blocks * disk.f_frsize });
        Measured { databases: sizes.collect(), disk }
    }
}

/// Files that are removed meanwhile are left out.
fn bytes_below(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)?.flatten() {
        bytes += match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()).unwrap_or(0),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use prometheus_client::encoding::text;
    use prometheus_client::registry::Registry;

    use super::*;

    const NEVER: Duration = Duration::from_secs(3_600);
    const OFTEN: Duration = Duration::from_millis(10);

    /// A data directory with a store of 1001 bytes and no event log, and what is measured of it.
    fn measured_every(interval: Duration) -> (tempfile::TempDir, Registry) {
        let folder = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(folder.path().join("store/tables")).expect("a directory");
        fs::write(folder.path().join("store/format"), b"1").expect("a file");
        fs::write(folder.path().join("store/tables/0.jnl"), [0; 1000]).expect("a file");
        let databases = [("hot", "store"), ("events", "events")];
        let disk_usage = DiskUsage::start(folder.path(), databases, interval).expect("a thread");
        let mut registry = Registry::default();
        registry.register_collector(Box::new(disk_usage));
        (folder, registry)
    }

    fn page(registry: &Registry) -> String {
        let mut page = String::new();
        text::encode(&mut page, registry).expect("a String takes all that is written to it");
        page
    }

    fn grow(folder: &tempfile::TempDir) {
        fs::write(folder.path().join("store/tables/1.jnl"), [0; 500]).expect("a file");
    }

    #[test]
    fn existing_files_are_summed_and_missing_stores_are_left_out() {
        let (_folder, registry) = measured_every(NEVER);
        let page = page(&registry);
        assert!(page.contains("store_bytes{store=\"hot\"} 1001\n"), "{page}");
        assert!(!page.contains("events"), "{page}");
        let of = |name: &str| -> u64 {
            let value = page.lines().find_map(|line| line.strip_prefix(name)).expect("a sample");
            value.trim().parse().expect("a number")
        };
        assert!(of("disk_free_bytes ") < of("disk_size_bytes "), "{page}");
    }

    #[test]
    fn a_scrape_does_not_touch_the_disk() {
        let (folder, registry) = measured_every(NEVER);
        grow(&folder);
        assert!(page(&registry).contains("store_bytes{store=\"hot\"} 1001\n"));
        folder.close().expect("it is removed");
        assert!(page(&registry).contains("store_bytes{store=\"hot\"} 1001\n"));
    }

    #[test]
    fn the_disk_is_measured_periodically() {
        let (folder, registry) = measured_every(OFTEN);
        grow(&folder);
        let began = Instant::now();
        while !page(&registry).contains("store_bytes{store=\"hot\"} 1501\n") {
            assert!(began.elapsed() < Duration::from_secs(60), "{}", page(&registry));
            thread::sleep(OFTEN);
        }
    }
}
