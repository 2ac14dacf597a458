//! Writes flights, one at a time.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::metrics::Metrics;
use crate::time::clock::Clock;
use model::backoff::Backoff;
use model::sums::{Flight, FlightNumber};
use storage::statistics::{Statistics, StatisticsAway, Written};
use storage::store_error::StoreError;
use storage::sums::{Look, PendingSums, Taken};
use storage::turn::Turn;

/// After this time without a flight of the lease's holder, another gateway writes flights.
pub const LEASE: Duration = Duration::from_secs(15);
/// The delay after a failure.
const RETRY: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
/// Between two looks while another gateway writes a flight.
const PAUSE: Duration = Duration::from_millis(50);
/// The most sums in one write. After a failure this process goes on with the first write that has not succeeded.
const PART_MAX: usize = 10_000;
/// The timeout of writing them. After it they are repeated.
const WRITE_MAX: Duration = Duration::from_secs(60);

pub struct Flusher {
    sums: Arc<dyn PendingSums>,
    statistics: Arc<dyn Statistics>,
    clock: Arc<Clock>,
    interval: Duration,
    /// Notified when a flight should begin before the interval is over.
    soon: Arc<Notify>,
    metrics: Metrics,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When the oldest sum that is not known to be written was counted, milliseconds.
    oldest: Option<u64>,
    /// The last flight that this process has begun.
    begun: FlightNumber,
    /// How many parts of which flight are known to be written.
    written: (FlightNumber, usize),
    /// The reason why a due flight was not written.
    why: Option<String>,
}

/// The sums that a written flight lacks of those that were pending when it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lacks {
    Nothing,
    /// It was begun earlier, by another gateway or in an attempt that failed; or it had no room for all.
    Part,
}

#[derive(Debug, thiserror::Error)]
enum FlushError {
    #[error(transparent)]
    Hot(#[from] StoreError),
    #[error(transparent)]
    Statistics(#[from] StatisticsAway),
    #[error("the statistics store has not taken {PART_MAX} sums within {} s", WRITE_MAX.as_secs())]
    Late,
}

impl Flusher {
    pub fn new(
        sums: Arc<dyn PendingSums>,
        statistics: Arc<dyn Statistics>,
        clock: Arc<Clock>,
        interval: Duration,
        soon: Arc<Notify>,
        metrics: Metrics,
    ) -> Self {
        Flusher { sums, statistics, clock, interval, soon, metrics, state: Mutex::default() }
    }

    /// Writes flights until the future is dropped.
    pub async fn run(&self) {
        let mut backoff = RETRY;
        let mut is_urgent = false;
        loop {
            let flushed = self.flush(is_urgent).await;
            self.measure();
            is_urgent = false;
            match flushed {
                Ok(Turn::Taken(rest)) => {
                    self.settled();
                    // The holder may end at any time: this gateway tries again when the lease expires, at the latest.
                    let rest = rest.min(self.interval).max(Duration::from_millis(50));
                    is_urgent = timeout(rest, self.soon.notified()).await.is_ok();
                }
                Ok(_) => {
                    self.settled();
                    backoff.succeeded();
                    // By then another gateway may hold the lease.
                    is_urgent = timeout(self.interval, self.soon.notified()).await.is_ok();
                }
                Err(error) => {
                    self.failed(error.to_string());
                    // Another gateway may reach a store that this gateway does not.
                    self.give_up_turn().await;
                    sleep(backoff.failed_with_jitter(rand::random())).await;
                }
            }
        }
    }

    /// Lets another gateway write flights at once. To be called after [`run`](Self::run) has ended.
    pub async fn give_up_turn(&self) {
        // If this fails, the lease expires.
        let _ = self.sums.give_up_turn().await;
        self.end_writing().await;
    }

    /// Problems that viewers do not notice.
    pub fn degraded(&self) -> Vec<String> {
        let why = self.state.lock().why.clone();
        why.map(|why| format!("sums are not written, they wait in the hot store: {why}")).into_iter().collect()
    }

    /// Writes all pending sums, flight by flight, if this gateway holds the lease, or if the sums are urgent: the holder does
    /// not know what is urgent here. Then it waits for a flight that the holder writes at that time: two that write the same
    /// one repeat each document, and hinder each other.
    async fn flush(&self, is_urgent: bool) -> Result<Turn, FlushError> {
        let turn = self.sums.take_turn(LEASE).await?;
        if turn != Turn::Mine && !is_urgent {
            self.state.lock().oldest = None;
            return Ok(turn);
        }
        while self.write_flight().await? == Some(Lacks::Part) {
            self.settled();
            // A backlog may take longer than the turn lasts.
            let turn = self.sums.take_turn(LEASE).await?;
            if turn != Turn::Mine && !is_urgent {
                return Ok(turn);
            }
        }
        Ok(Turn::Done)
    }

    /// `None`: no sums to write.
    async fn write_flight(&self) -> Result<Option<Lacks>, FlushError> {
        while let Turn::Taken(_) = self.sums.begin_writing(LEASE).await? {
            sleep(PAUSE).await;
        }
        let written = tokio::select! {
            written = self.write_next() => written,
            never = self.keep_writing() => match never {},
        };
        self.end_writing().await;
        written
    }

    async fn write_next(&self) -> Result<Option<Lacks>, FlushError> {
        let look = self.sums.look().await?;
        self.state.lock().oldest = look.oldest;
        self.measure();
        // A gateway may have ended before it had asked all shards for its flight: an empty one asks the others.
        if look.oldest.is_none() && look.is_quiet() {
            return Ok(None);
        }
        let began = Instant::now();
        let (flight, lacks) = self.take(look).await?;
        let number = flight.number;
        let written = self.write_parts(flight).await?;
        self.sums.remove(number).await?;
        self.state.lock().oldest = None;
        self.metrics.flights.inc();
        self.metrics.documents.inc_by((written.documents - written.repeats) as u64);
        self.metrics.repeats.inc_by(written.repeats as u64);
        self.metrics.seconds.observe(began.elapsed().as_secs_f64());
        Ok(Some(lacks))
    }

    /// Writes the parts of a flight that are not known to be written.
    async fn write_parts(&self, flight: Flight) -> Result<Written, FlushError> {
        let number = flight.number;
        let (of, parts) = self.state.lock().written;
        let done = if of == number { parts } else { 0 };
        let mut all = Written::default();
        for (index, part) in flight.parts(PART_MAX).into_iter().enumerate().skip(done) {
            let written = timeout(WRITE_MAX, self.statistics.write(Arc::new(part))).await;
            all.join(written.map_err(|_| FlushError::Late)??);
            self.state.lock().written = (number, index + 1);
        }
        Ok(all)
    }

    /// Keeps the right to write, however long it takes.
    async fn keep_writing(&self) -> Infallible {
        loop {
            sleep(LEASE / 3).await;
            // If this fails, another gateway may write the same flight.
            let _ = self.sums.begin_writing(LEASE).await;
        }
    }

    async fn end_writing(&self) {
        // If this fails, the right expires.
        let _ = self.sums.end_writing().await;
    }

    /// The lowest held flight, or a new flight.
    async fn take(&self, look: Look) -> Result<(Flight, Lacks), StoreError> {
        let now = self.clock.now().saturating_mul(1_000);
        let mut taken = match look.held {
            Some(held) => self.sums.resume(held).await?,
            None => self.sums.take(now.max(look.last + 1)).await?,
        };
        let (flight, lacks) = loop {
            taken = match taken {
                // The requested number may be held by other shards: it is taken next.
                Taken::Lower(lower) => self.sums.resume(lower).await?,
                Taken::Flight(flight) => break (flight, Lacks::Nothing),
                Taken::Part(flight) => break (flight, Lacks::Part),
            };
        };
        let mut state = self.state.lock();
        if look.held.is_some() && state.begun != flight.number {
            self.metrics.taken_over.inc();
        }
        state.begun = flight.number;
        drop(state);
        Ok((flight, lacks))
    }

    fn settled(&self) {
        let mut state = self.state.lock();
        if state.why.take().is_some() {
            tracing::info!(event = "flights_resumed", "sums are written again");
        }
    }

    fn failed(&self, why: String) {
        self.metrics.failures.inc();
        let mut state = self.state.lock();
        if state.why.replace(why.clone()).is_none() {
            tracing::error!(event = "flights_waiting", error = why, "sums are not written; they wait in the hot store");
        }
    }

    fn measure(&self) {
        let oldest = self.state.lock().oldest;
        let age = oldest.map_or(0, |oldest| self.clock.now().saturating_sub(oldest) / 1_000);
        self.metrics.oldest_seconds.set(i64::try_from(age).unwrap_or(i64::MAX));
    }
}
