//! Keys, certificates and the country file, read again while the process serves: at SIGHUP, when it is asked for, and when a
//! file has changed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::sleep;

use super::assembly::Assembly;
use super::files_in_use::FilesInUse;
use super::redis_certificates::RedisCertificates;
use super::spawn::{runtime, spawn};
use crate::config::Config;
use edge::control::reload::{self, Reread};
use edge::shutdown::Stop;
use storage::hot_store::config::Backend as HotStore;

/// A file that is being written is read when it has been still for so long.
const STILL: Duration = Duration::from_secs(1);

/// The files, as they were when they were last read.
pub(super) struct Files {
    paths: Vec<PathBuf>,
    seen: Vec<Option<Mark>>,
}

/// Identifies the content of a file. A mounted volume replaces the file instead of writing it.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    file: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Reads all of it again. What cannot be used stays as it was.
pub(super) struct Reload {
    files: Mutex<Files>,
    read: Box<dyn Fn() -> Vec<Reread> + Send + Sync>,
}

impl Files {
    /// To be called before any of them is read, so that no change goes unnoticed.
    pub fn of(config: &Config) -> Self {
        let mut paths: Vec<PathBuf> = config.auth.jwks_file().map(PathBuf::from).into_iter().collect();
        for tls in config.server.tls().into_iter().chain(config.grpc.tls()) {
            paths.extend([tls.chain, tls.key]);
            paths.extend(tls.clients.map(|clients| clients.authorities));
        }
        paths.extend(config.live.geoip().map(PathBuf::from));
        paths.extend(of_redis(config));
        Files { seen: marks(&paths), paths }
    }

    /// Those of connections to Redis alone.
    #[cfg_attr(not(feature = "fleet"), expect(dead_code, reason = "only a fleet has a Redis"))]
    pub fn of_redis(config: &Config) -> Self {
        let paths: Vec<_> = of_redis(config).collect();
        Files { seen: marks(&paths), paths }
    }
}

fn of_redis(config: &Config) -> impl Iterator<Item = PathBuf> {
    let is_used = config.store.hot_store == HotStore::Redis;
    config.redis.tls_files().filter(move |_| is_used).map(PathBuf::from)
}

impl Reload {
    fn now(&self) -> Vec<Reread> {
        // Kept to the end, so that one goes after the other.
        let mut files = self.files.lock();
        files.seen = marks(&files.paths);
        (self.read)()
    }

    /// Whether a file is not what was last read.
    fn is_due(&self) -> bool {
        let files = self.files.lock();
        files.seen != marks(&files.paths)
    }

    fn marks(&self) -> Vec<Option<Mark>> {
        let paths = self.files.lock().paths.clone();
        marks(&paths)
    }

    async fn watch(&self, every: Duration) {
        loop {
            sleep(every).await;
            if !self.is_due() {
                continue;
            }
            let mut before = self.marks();
            loop {
                sleep(STILL).await;
                let now = self.marks();
                if now == before {
                    break;
                }
                before = now;
            }
            tracing::info!(event = "files_changed", "files have changed and are read again");
            self.now();
        }
    }
}

/// Returns what SIGHUP calls.
pub(super) fn build(
    config: &Config,
    files: Files,
    in_use: Arc<FilesInUse>,
    stop: Stop,
    assembly: &mut Assembly,
) -> Box<dyn Fn() + Send + Sync> {
    let is_watched = !files.paths.is_empty();
    let reload = Arc::new(Reload { files: Mutex::new(files), read: Box::new(move || in_use.read_again()) });
    let asked = reload.clone();
    assembly.serve_control(reload::routes(Arc::new(move || asked.now())));
    let every = config.server.watch_files;
    if is_watched {
        let watched = reload.clone();
        assembly.threads.push(Box::new(move || watch(watched, every, stop).map(|()| None)));
    }
    Box::new(move || drop(reload.now()))
}

/// The same for a process that reads nothing again but its certificates for Redis. The watch begins at once.
#[cfg_attr(not(feature = "fleet"), expect(dead_code, reason = "only a fleet has a Redis"))]
pub(super) fn of_redis_alone(
    config: &Config,
    files: Files,
    certificates: Arc<RedisCertificates>,
    stop: Stop,
) -> io::Result<Box<dyn Fn() + Send + Sync>> {
    let read = Box::new(move || vec![certificates.read_again()]);
    let reload = Arc::new(Reload { files: Mutex::new(files), read });
    watch(reload.clone(), config.server.watch_files, stop)?;
    Ok(Box::new(move || drop(reload.now())))
}

/// On a thread of its own: a volume that hangs holds nothing else up.
fn watch(reload: Arc<Reload>, every: Duration, stop: Stop) -> io::Result<()> {
    if every.is_zero() {
        return Ok(());
    }
    let runtime = runtime()?;
    spawn("files", move || {
        runtime.block_on(async {
            tokio::select! {
                () = reload.watch(every) => {}
                () = stop.stopped() => {}
            }
        });
    })?;
    Ok(())
}

/// `None`: there is no such file.
fn marks(paths: &[PathBuf]) -> Vec<Option<Mark>> {
    let mark = |path: &PathBuf| {
        let found = fs::metadata(path).ok()?;
        Some(Mark {
            file: (found.dev(), found.ino()),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    };
    paths.iter().map(mark).collect()
}
