//! The only writing thread: it publishes, prunes in between, and opens the log anew after a failure.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use fjall::Keyspace;
use tokio::sync::watch;

use super::age_clock::{AgeClock, ClockCheck};
use super::codec::{self, Entry, State};
use super::error::LogError;
use super::prune::Retention;
use super::tables::Tables;
use super::{RETRY_MAX, RETRY_MIN, Shared, away};
use crate::database::{self, Journal};
use model::backoff::Backoff;
use storage::Clock;
use storage::delivery::{Delivery, Receipt};
use storage::event_bus::Offset;
use storage::event_bus::config::Config;

/// The longest time between two checks of the retention.
const PRUNE_INTERVAL: Duration = Duration::from_secs(1);

/// Events to be written together, as JSON.
pub struct Publish {
    pub events: Vec<String>,
    /// One for each.
    pub receipts: Vec<Receipt>,
}

impl Publish {
    /// Nothing of it was written.
    pub fn refused(self, why: &str) {
        self.report(&Delivery::Refused(why.to_owned()));
    }

    fn report(self, delivery: &Delivery) {
        self.receipts.into_iter().for_each(|receipt| receipt.report(delivery.clone()));
    }
}

pub struct Writer {
    shared: Arc<Shared>,
    state: State,
    retention: Retention,
    clock: Clock,
    age_clock: AgeClock,
    prune_interval: Duration,
    newest: watch::Sender<Offset>,
    failure: Option<Failure>,
}

/// Why events cannot be written at present.
struct Failure {
    why: String,
    retry_at: Instant,
    backoff: Backoff,
}

impl Failure {
    /// Another one, after those that `backoff` has counted.
    fn after(mut backoff: Backoff, why: String) -> Self {
        Failure { why, retry_at: Instant::now() + backoff.failed(), backoff }
    }
}

impl Writer {
    pub fn new(
        shared: Arc<Shared>,
        state: State,
        config: &Config,
        clock: Clock,
        check: ClockCheck,
        newest: watch::Sender<Offset>,
    ) -> Self {
        let prune_interval = PRUNE_INTERVAL.min(check.interval);
        let age_clock = AgeClock::new(check, clock.clone(), state.newest_time);
        let retention = Retention::of(config);
        Writer { shared, state, retention, clock, age_clock, prune_interval, newest, failure: None }
    }

    /// Until all senders are gone.
    pub fn run(mut self, asked: &Receiver<Publish>) {
        let mut prune_at = Instant::now();
        loop {
            let due = self.failure.as_ref().map_or(prune_at, |failure| failure.retry_at);
            match asked.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(publish) => {
                    let delivery = self.publish(&publish.events);
                    publish.report(&delivery);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if Instant::now() < due {
                continue;
            }
            if self.failure.is_some() {
                self.recover();
            } else {
                self.prune();
                prune_at = Instant::now() + self.prune_interval;
            }
        }
    }

    fn publish(&mut self, events: &[String]) -> Delivery {
        if let Some(failure) = &self.failure {
            return Delivery::Refused(failure.why.clone());
        }
        let mut state = self.state;
        state.newest_time = state.newest_time.max((self.clock)());
        let written = self.write(|tables| {
            let segment = self.segment(tables, state.newest_time)?;
            let mut batch = tables.durable_batch(events.len() + 1);
            for event in events {
                state.newest += 1;
                state.written += event.len() as u64;
                let entry = Entry { time: state.newest_time, end: state.written, event };
                batch.insert(&segment, codec::key(state.newest), entry.to_bytes());
            }
            tables.put_state(&mut batch, state);
            Ok(batch.commit()?)
        });
        match written {
            Ok(()) => {
                self.state = state;
                self.newest.send_replace(state.newest);
                Delivery::Published
            }
            // It may be on the disk for all that.
            Err(error) => Delivery::Unknown(self.fail(error).0),
        }
    }

    /// The one that the next events belong to.
    fn segment(&self, tables: &Tables, now: u64) -> Result<Keyspace, LogError> {
        match tables.segments.newest() {
            Some((_, newest)) if !self.retention.is_long_enough(&tables.view(), tables, &self.state, now)? => {
                Ok(newest)
            }
            _ => Ok(tables.segments.begin(self.state.newest + 1)?),
        }
    }

    fn prune(&mut self) {
        let now = self.age_clock.now();
        match self.write(|tables| self.retention.apply(tables, self.state, now)) {
            Ok(left) => self.state = left,
            Err(error) => drop(self.fail(error)),
        }
    }

    fn write<T>(&self, write: impl FnOnce(&Tables) -> Result<T, LogError>) -> Result<T, LogError> {
        let tables = self.shared.tables.read();
        let tables = tables.as_ref().ok_or_else(|| away("cannot be opened"))?;
        unwound(|| write(tables))
    }

    fn fail(&mut self, error: LogError) -> LogError {
        tracing::error!(event = "event_log_failed", %error, "event log failed; events wait in the outbox, reopening");
        self.failure = Some(Failure::after(Backoff::new(RETRY_MIN, RETRY_MAX), error.0.clone()));
        error
    }

    fn recover(&mut self) {
        match unwound(|| self.open_anew()) {
            Ok(state) => {
                tracing::info!(event = "event_log_reopened", newest = state.newest, "event log reopened");
                // An unanswered write may be in the log after all, and durable by now.
                self.newest.send_if_modified(|newest| std::mem::replace(newest, state.newest) != state.newest);
                (self.state, self.failure) = (state, None);
            }
            Err(LogError(why)) => {
                let before = self.failure.as_ref();
                let backoff = before.map_or(Backoff::new(RETRY_MIN, RETRY_MAX), |failure| failure.backoff);
                // A reason is logged once, not at every attempt.
                if before.is_none_or(|failure| failure.why != why) {
                    tracing::error!(
                        event = "event_log_reopen_failed",
                        reason = why,
                        "cannot reopen the event log; retrying"
                    );
                }
                self.failure = Some(Failure::after(backoff, why));
            }
        }
    }

    fn open_anew(&self) -> Result<State, LogError> {
        let mut tables = self.shared.tables.write();
        // Open tables hold the files until they are dropped.
        *tables = None;
        database::require(&self.shared.path).map_err(|missing| away(&missing.to_string()))?;
        let opened = Tables::open(&self.shared.path, Journal::Used)?;
        let state = state_of(&opened)?;
        opened.ensure_id()?;
        *tables = Some(opened);
        Ok(state)
    }
}

/// Handles a panic of the tables, which the panic hook has reported, like any failure: only this thread can recover.
fn unwound<T>(attempt: impl FnOnce() -> Result<T, LogError>) -> Result<T, LogError> {
    catch_unwind(AssertUnwindSafe(attempt)).unwrap_or_else(|_| Err(away("panicked")))
}

/// The state of a log that has just been opened, if it is one that can have been written.
pub fn state_of(tables: &Tables) -> Result<State, LogError> {
    let view = tables.view();
    let state = view.state()?;
    let (mut first, mut last) = (None, None);
    view.entries_from(state.oldest, |offset, _| {
        first = Some(offset);
        false
    })?;
    view.entries_from(state.newest.max(1), |offset, entry| {
        last = Some((offset, entry.end));
        true
    })?;
    // A part of a segment may remain of pruned entries.
    let sound = if state.oldest > state.newest {
        first.is_none() && last.is_none_or(|last| last == (state.newest, state.written))
    } else {
        first == Some(state.oldest) && last == Some((state.newest, state.written))
    };
    if sound { Ok(state) } else { Err(away("entries differ from what was written")) }
}
