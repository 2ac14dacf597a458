//! Writes the log on a thread of its own: standard error may be a pipe that is not read, and a thread that serves must
//! not wait for it.
//!
//! Lines wait in a bounded queue. Once it is full, lines are dropped and counted until half of it is written; then a
//! line says how many are missing, in their place. Errors have room of their own.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// The most bytes of lines that wait.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// The most bytes that errors may take besides, also while other lines are dropped.
const ERROR_BYTES_MAX: usize = 256 << 10;
/// The bytes of a line beside its text.
const LINE_BYTES: usize = 64;
/// The most bytes of whole lines in one write: up to here a pipe takes it at once, so that lines of processes on one
/// pipe do not mix.
const WRITE_BYTES_MAX: usize = 4096;
/// How long a process that ends waits for the reader of its last lines.
const LAST_LINES_MAX: Duration = Duration::from_secs(2);
/// Until a descriptor that does not block is tried again.
const AGAIN: Duration = Duration::from_millis(10);

/// Takes lines from any thread, and never waits for their reader.
#[derive(Clone, Debug)]
pub struct LogWriter {
    shared: Arc<Shared>,
}

/// Writes one line. Errors may take the room that is kept for them.
#[derive(Debug)]
pub struct LineWriter<'a> {
    shared: &'a Shared,
    is_error: bool,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    filled: Condvar,
    settled: Condvar,
    bytes_max: usize,
    dropped: Counter,
}

#[derive(Debug, Default)]
struct Queue {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Some lines were taken from the queue, and are not written yet.
    is_writing: bool,
    /// It was full, and is not half empty yet.
    is_dropping: bool,
    /// Lines that were dropped since the log last said so.
    missing: u64,
}

impl LogWriter {
    /// Writes to `out` from now on. `resume` is called when the log goes on after this many lines were dropped.
    pub fn start(out: impl Write + Send + 'static, resume: impl Fn(u64) + Send + 'static) -> io::Result<Self> {
        Self::with_room(WAITING_BYTES_MAX, out, resume)
    }

    fn with_room(
        bytes_max: usize,
        mut out: impl Write + Send + 'static,
        resume: impl Fn(u64) + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            filled: Condvar::new(),
            settled: Condvar::new(),
            bytes_max,
            dropped: Counter::default(),
        });
        let log = LogWriter { shared: shared.clone() };
        thread::Builder::new().name("log".to_owned()).spawn(move || {
            let mut batch = Vec::with_capacity(WRITE_BYTES_MAX);
            loop {
                let lines = shared.take(&mut batch);
                let written = write_whole(&mut out, &batch);
                if let Some(missing) = shared.written(lines, written.is_ok()) {
                    resume(missing);
                }
                shared.settle();
            }
        })?;
        Ok(log)
    }

    pub fn register(&self, registry: &mut Registry) {
        let what = "Lines of the log that were dropped, since standard error was not read";
        registry.register("log_dropped", what, self.shared.dropped.clone());
    }

    /// Queues `text` as an error.
    pub fn error(&self, text: &str) {
        self.shared.push(text.as_bytes(), true);
    }

    /// Waits until all that is queued is written, but no longer than this.
    pub(super) fn flush(&self, within: Duration) {
        let until = Instant::now() + within;
        let mut queue = self.shared.queue.lock();
        while queue.is_writing || !queue.lines.is_empty() {
            if self.shared.settled.wait_until(&mut queue, until).timed_out() {
                return;
            }
        }
    }

    /// Waits at the end of the process until all lines are written, but not for ever.
    pub fn write_last_lines(&self) {
        self.flush(LAST_LINES_MAX);
    }

    /// Whether lines are being dropped: waiting would be in vain.
    pub fn is_dropping(&self) -> bool {
        self.shared.queue.lock().is_dropping
    }
}

impl Shared {
    fn push(&self, line: &[u8], is_error: bool) {
        let line = line.to_vec();
        let bytes = line.len() + LINE_BYTES;
        let mut queue = self.queue.lock();
        // A line that is too long for the queue has it for itself.
        let has_room = |bytes_max| queue.lines.is_empty() || queue.bytes + bytes <= bytes_max;
        let (fits, fits_as_error) = (has_room(self.bytes_max), has_room(self.bytes_max + ERROR_BYTES_MAX));
        queue.is_dropping |= !fits;
        if queue.is_dropping && !(is_error && fits_as_error) {
            queue.missing += 1;
            self.dropped.inc();
            return;
        }
        queue.bytes += bytes;
        queue.lines.push_back(line);
        drop(queue);
        self.filled.notify_one();
    }

    /// Waits for lines, and moves some of them to `batch`; returns how many.
    fn take(&self, batch: &mut Vec<u8>) -> u64 {
        batch.clear();
        let mut lines = 0;
        let mut queue = self.queue.lock();
        while queue.lines.is_empty() {
            self.filled.wait(&mut queue);
        }
        queue.is_writing = true;
        while let Some(line) =
            queue.lines.pop_front_if(|line| lines == 0 || batch.len() + line.len() <= WRITE_BYTES_MAX)
        {
            queue.bytes -= line.len() + LINE_BYTES;
            batch.extend_from_slice(&line);
            lines += 1;
        }
        lines
    }

    /// Returns how many lines are missing, if the log goes on now.
    fn written(&self, lines: u64, is_done: bool) -> Option<u64> {
        let mut queue = self.queue.lock();
        if !is_done {
            queue.missing += lines;
            self.dropped.inc_by(lines);
        }
        if queue.bytes > self.bytes_max / 2 {
            return None;
        }
        queue.is_dropping = false;
        (is_done && queue.missing > 0).then(|| std::mem::take(&mut queue.missing))
    }

    fn settle(&self) {
        self.queue.lock().is_writing = false;
        self.settled.notify_all();
    }
}

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = LineWriter<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        LineWriter { shared: &self.shared, is_error: false }
    }

    fn make_writer_for(&'a self, meta: &Metadata<'_>) -> Self::Writer {
        LineWriter { shared: &self.shared, is_error: *meta.level() == Level::ERROR }
    }
}

impl Write for LineWriter<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.shared.push(line, self.is_error);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Also to a descriptor that whoever shares it has set to non-blocking.
fn write_whole(out: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match out.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(AGAIN),
            Err(error) => return Err(error),
        }
    }
    out.flush()
}

#[cfg(test)]
#[path = "log_writer_tests.rs"]
mod tests;
