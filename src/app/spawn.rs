//! Threads, each with a runtime of its own.

use std::io;
use std::thread::{self, JoinHandle};

use tokio::runtime::{Builder, Runtime};

pub(super) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

pub(super) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(run)
}
