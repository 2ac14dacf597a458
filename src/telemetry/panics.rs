//! Panics are lines of the log: the default hook would write to standard error itself, and wait for its reader.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{self, PanicHookInfo};
use std::thread;
use std::time::Duration;

use super::log_writer::LogWriter;

/// How long a thread that panics waits for its line to be written: an abort may follow.
const WRITTEN_WITHIN: Duration = Duration::from_millis(200);

/// From now on, of all threads.
pub(super) fn log_panics(log: &LogWriter) {
    let log = log.clone();
    panic::set_hook(Box::new(move |panic| {
        report(panic);
        if !log.is_dropping() {
            log.flush(WRITTEN_WITHIN);
        }
    }));
}

fn report(panic: &PanicHookInfo) {
    let thread = thread::current();
    let name = thread.name().unwrap_or("unnamed");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let why = panic.payload_as_str().unwrap_or("no message");
    // Only if the environment asks for it.
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then(|| tracing::field::display(&backtrace));
    tracing::error!(event = "panic", backtrace, "thread '{name}' panicked at {place}: {why}");
}
