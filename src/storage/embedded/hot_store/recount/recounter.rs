//! The thread that counts all records: when definitions are new or differ, and when a recount is asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::jobs::Jobs;
use super::walk::{Ended, Walk};
use crate::describe;
use crate::hot_store::Shared;
use crate::hot_store::counters::CounterTables;
use model::counters::{CounterId, CounterKey, Definitions, Generation, Recount, RecountJob, RecountState};
use storage::counters::Metrics;
use storage::hot_store::StoreError;

/// After a failure of the store that may pass.
const RETRY: Duration = Duration::from_secs(1);

/// When this is dropped, the thread ends. A count that goes on is given up.
pub struct Recounter {
    work: Arc<Work>,
    thread: Option<JoinHandle<()>>,
}

struct Work {
    shared: Arc<Shared>,
    state: Mutex<State>,
    /// There is something to do, or the thread is to end.
    changed: Condvar,
    stop: AtomicBool,
    metrics: Metrics,
}

struct State {
    wanted: Option<Definitions>,
    jobs: Jobs,
    /// Recounts that wait, by their names: at most one of each counter.
    waiting: Vec<String>,
}

impl Recounter {
    pub fn start(shared: Arc<Shared>, jobs: Jobs) -> std::io::Result<Self> {
        let state = Mutex::new(State { wanted: None, jobs, waiting: Vec::new() });
        let (changed, stop) = (Condvar::new(), AtomicBool::new(false));
        let work = Arc::new(Work { shared, state, changed, stop, metrics: Metrics::default() });
        let own = work.clone();
        let thread = thread::Builder::new().name("store-recount".into()).spawn(move || own.run())?;
        Ok(Recounter { work, thread: Some(thread) })
    }

    pub fn metrics(&self) -> &Metrics {
        &self.work.metrics
    }

    /// These are to be counted from now on, and no others.
    pub fn want(&self, definitions: Definitions) {
        self.work.state.lock().wanted = Some(definitions);
        self.work.changed.notify_all();
    }

    pub fn wanted(&self) -> Option<Definitions> {
        self.work.state.lock().wanted.clone()
    }

    /// See [`DerivedCounters::recount`](storage::counters::DerivedCounters::recount).
    pub fn recount(&self, id: CounterId, keys: Vec<CounterKey>, now: u64) -> Result<String, StoreError> {
        let mut state = self.work.state.lock();
        if let Some(running) = state.jobs.running_of(&id) {
            return Ok(running.to_owned());
        }
        let name = format!("{:016x}", rand::random::<u64>());
        self.work.write(|batch, tables| state.jobs.add(batch, tables, name.clone(), RecountJob::new(id, keys, now)))?;
        state.waiting.push(name.clone());
        self.work.changed.notify_all();
        Ok(name)
    }

    pub fn recounted(&self, name: &str, now: u64) -> Option<(CounterId, Recount)> {
        self.work.state.lock().jobs.get(name, now).map(|job| (job.counter.clone(), job.recount.clone()))
    }
}

impl Drop for Recounter {
    fn drop(&mut self) {
        self.work.stop.store(true, Ordering::Relaxed);
        // The thread looks under the lock.
        drop(self.work.state.lock());
        self.work.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Work {
    fn run(&self) {
        while let Some((definitions, jobs)) = self.next() {
            self.metrics.counting.set(1);
            let counted = self.count_all(&definitions, &jobs);
            self.metrics.counting.set(0);
            let state = match &counted {
                Ok(()) => RecountState::Done,
                Err(_) => RecountState::Failed,
            };
            self.finish(&jobs, state);
            match counted {
                Ok(()) => {}
                Err(Ended::Stopped) => return,
                Err(Ended::Store(error)) => {
                    tracing::error!(event = "counters_postponed", %error, "derived counters are not counted");
                    let _ = Walk::new(&self.shared, &self.stop).give_up();
                    self.changed.wait_for(&mut self.state.lock(), RETRY);
                }
            }
        }
    }

    /// Returns the definitions to count, and the recounts that wait for them. `None`: the thread is to end.
    fn next(&self) -> Option<(Definitions, Vec<String>)> {
        let mut state = self.state.lock();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(wanted) = state.wanted.clone() {
                let waiting = std::mem::take(&mut state.waiting);
                if !waiting.is_empty() || !self.counts(&wanted) {
                    return Some((wanted, waiting));
                }
            }
            self.changed.wait(&mut state);
        }
    }

    /// Whether these are what is counted, each as it is.
    fn counts(&self, wanted: &Definitions) -> bool {
        let Ok(writer) = self.shared.group_writer() else { return true };
        match writer.counting.current.as_deref() {
            None => wanted.counters.is_empty(),
            Some(Generation { definitions, .. }) => wanted.are(definitions),
        }
    }

    fn count_all(&self, definitions: &Definitions, jobs: &[String]) -> Result<(), Ended> {
        let walk = Walk::new(&self.shared, &self.stop);
        let of = self.shared.tables.contents.approximate_len() as u64;
        self.each(jobs, |job| job.recount.of = of);
        tracing::info!(
            event = "counters_counting",
            counters = definitions.counters.len(),
            "all records are being counted"
        );
        walk.remove_others()?;
        walk.count(definitions.clone(), |records| self.each(jobs, |job| job.recount.done += records))?;
        let mut found = 0;
        walk.compare(|id, difference| {
            found += 1;
            self.metrics.differences.inc();
            tracing::error!(
                event = "counter_difference",
                counter = %id, key = %difference.key, was = difference.was, is = difference.is,
                "a derived counter was wrong, and is repaired"
            );
            self.each(jobs, |job| {
                if job.counter == *id {
                    job.note(&difference);
                }
            });
        })?;
        walk.swap()?;
        self.metrics.recounts.inc();
        tracing::info!(event = "counters_counted", differences = found, "all records are counted");
        Ok(())
    }

    fn each(&self, jobs: &[String], change: impl Fn(&mut RecountJob)) {
        let mut state = self.state.lock();
        jobs.iter().for_each(|name| state.jobs.get_mut(name).into_iter().for_each(&change));
    }

    fn finish(&self, jobs: &[String], state: RecountState) {
        self.each(jobs, |job| {
            job.recount.state = state;
            // How many there would be was an estimate. One that is done has counted all of them.
            job.recount.of = match state {
                RecountState::Done => job.recount.done,
                _ => job.recount.of.max(job.recount.done),
            };
        });
        let kept = self.state.lock();
        // A recount that is not stored has failed when the process begins again.
        let _ = self.write(|batch, tables| jobs.iter().for_each(|name| kept.jobs.put(batch, tables, name)));
    }

    fn write(&self, put: impl FnOnce(&mut fjall::OwnedWriteBatch, &CounterTables)) -> Result<(), StoreError> {
        let mut writer = self.shared.group_writer()?;
        writer.require_writable()?;
        let mut batch = writer.tables.durable_batch(1);
        put(&mut batch, &writer.counting.tables);
        batch.commit().map_err(|error| writer.fail(describe(&error)))
    }
}
