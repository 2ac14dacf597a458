//! One owner's turn: requests one after the other, until the turn is over or one fails.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::health::{CascadeHealth, Step};
use super::metrics::Metrics;
use super::slots::{Kept, Slot, Slots};
use super::state_log;
use crate::time::clock::Clock;
use crate::time::guard::ClockStatus;
use model::subscribers::{Delivery, Failure, FailureReason, Hmac, Retries, State, Status, Subscriber};
use storage::endpoint::{Endpoint, Outcome};
use storage::owner_queues::{Done, Entry, Line, Number, OwnerQueues, Taken};

/// The time after which no further request of a turn begins.
const TURN: Duration = Duration::from_secs(1);
/// A request that takes longer is slow.
const SLOW: Duration = Duration::from_secs(1);
/// The time that clocks and busy threads may cost between the look at a lease and the begin of its request.
const MARGIN: Duration = Duration::from_secs(2);
/// The pause when the end of a lease cannot be stored.
const RETRY: Duration = Duration::from_millis(200);

/// The settings of all turns.
pub struct TurnSettings {
    /// The timeout of one request.
    pub timeout: Duration,
    pub retries: Retries,
    pub hmac: Hmac,
}

/// The parts that all turns share.
pub struct Turns {
    pub queues: Arc<dyn OwnerQueues>,
    pub endpoint: Arc<dyn Endpoint>,
    /// Notified when queues may be due.
    pub queued: Arc<Notify>,
    pub settings: Arc<TurnSettings>,
    pub clock: Arc<Clock>,
    /// While it is off no lease is taken: by the store's clock another one may still last, or this one last too long.
    pub clock_status: ClockStatus,
    pub health: Arc<CascadeHealth>,
    pub metrics: Metrics,
    pub slots: Slots,
}

struct Turn {
    turns: Arc<Turns>,
    slot: Slot,
    /// The lease ends no earlier.
    until: Instant,
}

/// The result of a turn.
struct Served {
    delivered_to: Option<Number>,
    delivered: u64,
    status: Status,
    slow: bool,
    pause: Duration,
}

impl TurnSettings {
    /// Long enough for a turn whose last request takes all its time.
    pub fn lease(&self) -> Duration {
        TURN + self.timeout + MARGIN + MARGIN
    }
}

impl Turns {
    /// A turn for each of these owners, with leases that end no earlier than `until`.
    pub fn begin(self: &Arc<Self>, taken: Vec<Taken>, until: Instant, kept: &mut Kept) {
        for taken in taken {
            let line = taken.line;
            let turn = Turn { turns: self.clone(), slot: kept.split(line), until };
            self.metrics.workers.inc();
            let (workers, queued) = (self.metrics.workers.clone(), self.queued.clone());
            tokio::spawn(async move {
                turn.serve(taken).await;
                workers.dec();
                // Others of its line may have been left out for want of a slow slot.
                if line == Line::Slow {
                    queued.notify_one();
                }
            });
        }
    }

    /// How long the next lease of the same owner may last. `None` while other owners wait for its slot, or the clock is
    /// off.
    pub fn next_lease(&self) -> Option<Duration> {
        (!self.slots.are_full() && !self.clock_status.is_off()).then(|| self.settings.lease())
    }
}

impl Turn {
    /// Turns of one owner, as long as it is given another lease.
    async fn serve(mut self, mut taken: Taken) {
        loop {
            let served = self.deliver(&taken).await;
            match self.end(&taken, served).await {
                Some(next) => taken = next,
                None => return,
            }
        }
    }

    /// Ends the lease. Returns the next one, if it was given at once.
    async fn end(&mut self, taken: &Taken, served: Served) -> Option<Taken> {
        let Served { delivered_to, delivered, status, slow, pause } = served;
        let done = Done { delivered_to, delivered, status, slow, pause };
        // A slot of one line is none of the other.
        let goes_on = taken.line == Line::Quick && done.line() == Line::Quick;
        let Turns { queues, queued, health, settings, .. } = &*self.turns;
        // Not stored in time, it is delivered again by the next lease.
        while Instant::now() < self.until {
            let (owner, next) = (taken.owner.clone(), self.turns.next_lease().filter(|_| goes_on));
            let until = Instant::now() + settings.lease();
            let given = queues.done_and_take(owner, taken.fence, done.clone(), next).await;
            if let Some(mut given) = health.note(Step::Done, given) {
                state_log::log_change(&taken.owner, &taken.status, &done.status);
                if given.is_due {
                    queued.notify_one();
                }
                self.until = until;
                return given.taken.pop();
            }
            sleep(RETRY).await;
        }
        None
    }

    async fn deliver(&mut self, taken: &Taken) -> Served {
        let (began, status) = (Instant::now(), taken.status.clone());
        let mut served = Served { delivered_to: None, delivered: 0, status, slow: false, pause: Duration::ZERO };
        for entries in requests(&taken.subscriber, &taken.entries) {
            // The first request of a turn may begin late, but not after its lease.
            let is_over = served.delivered_to.is_some() && began.elapsed() > TURN;
            if is_over || Instant::now() + self.turns.settings.timeout + MARGIN > self.until {
                break;
            }
            let asked = Instant::now();
            let outcome = self.send(taken, entries).await;
            served.slow = asked.elapsed() > SLOW;
            match outcome {
                Outcome::Delivered => self.delivered(entries, &mut served),
                Outcome::Gone => {
                    self.failed(taken, FailureReason::Status, Some(410), &mut served);
                    served.status.stop(State::Disabled);
                    break;
                }
                Outcome::Failed { reason, status, retry_after } => {
                    self.failed(taken, reason, status, &mut served);
                    self.put_off(retry_after, &mut served);
                    break;
                }
            }
        }
        served
    }

    async fn send(&mut self, taken: &Taken, entries: &[Entry]) -> Outcome {
        let events: Vec<&str> = entries.iter().map(|entry| &*entry.event).collect();
        let delivery = Delivery::of(&taken.subscriber, &events, self.turns.clock.now(), self.turns.settings.hmac);
        let began = Instant::now();
        let mut request = self.turns.endpoint.deliver(delivery);
        let outcome = match timeout(SLOW, &mut request).await {
            Ok(outcome) => outcome,
            Err(_) => {
                self.turns.slots.step_aside(&mut self.slot);
                request.await
            }
        };
        self.turns.metrics.seconds.observe(began.elapsed().as_secs_f64());
        outcome
    }

    fn delivered(&self, entries: &[Entry], served: &mut Served) {
        let now = self.turns.clock.now();
        for entry in entries {
            self.turns.metrics.age.observe(now.saturating_sub(entry.queued_at) as f64 / 1_000.0);
        }
        self.turns.metrics.deliveries.inc();
        self.turns.metrics.delivered.inc_by(entries.len() as u64);
        served.delivered += entries.len() as u64;
        served.delivered_to = entries.last().map(|entry| entry.number);
        served.status.failing = None;
    }

    fn failed(&self, taken: &Taken, reason: FailureReason, status: Option<u16>, served: &mut Served) {
        self.turns.metrics.failed(reason);
        tracing::debug!(event = "delivery_failed", subscriber = %taken.owner, %reason, status, "delivery failed");
        served.status.last_failure = Some(Failure { at: self.turns.clock.now(), status, reason });
    }

    fn put_off(&self, retry_after: Option<Duration>, served: &mut Served) {
        let failing = served.status.failing;
        let next = self.turns.settings.retries.next(failing, self.turns.clock.now(), retry_after, rand::random());
        served.pause = next.put_off(&mut served.status);
    }
}

/// The entries of each request: as many as the subscriber takes at once.
fn requests<'a>(subscriber: &Subscriber, entries: &'a [Entry]) -> Vec<&'a [Entry]> {
    let (mut all, mut rest) = (Vec::new(), entries);
    while !rest.is_empty() {
        let mut bytes = 0;
        let fitting = rest.iter().take(usize::from(subscriber.batch)).take_while(|entry| {
            bytes += entry.event.len();
            bytes <= Subscriber::BATCH_BYTES_MAX
        });
        // An event that is too long goes alone.
        let (request, after) = rest.split_at(fitting.count().max(1));
        all.push(request);
        rest = after;
    }
    all
}
