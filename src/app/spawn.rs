//! Threads, each with a runtime of its own.

use std::io;
use std::thread::{self, JoinHandle};

use tokio::runtime::{Builder, Runtime};

pub(super) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

pub(super) fn spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    thread::Builder::new().name(name.to_owned()).spawn(run)
}
