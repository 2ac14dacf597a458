//! The writing thread: answers all requests that wait, with one commit.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::append::{append, fill, resend};
use super::bounds::{drop_dead, trim};
use super::change::change;
use super::control::Control;
use super::draft::{Changed, Draft};
use super::head::Head;
use super::lease::{done, take};
use super::request::Request;
use super::tables::{Garbage, Tables, away};
use crate::write_queue::Answered;
use model::subscribers::{PauseReason, State, SubscriberId};
use storage::Clock;
use storage::owner_queues::{Appended, Bounds, Due, Limit, Line, Totals, Version};
use storage::store_error::StoreError;

/// Keys of removed queues that go after each batch.
const GARBAGE_MAX: usize = 4_096;

pub struct Writer {
    tables: Tables,
    bounds: Bounds,
    clock: Clock,
    memory: Memory,
    /// A write has failed: what is in memory may be ahead of the tables.
    is_doubtful: bool,
}

/// The state in memory, which can be made from the tables.
struct Memory {
    control: Control,
    totals: Totals,
    /// Owners that are active and failing, by when that began.
    failing: BTreeSet<(u64, SubscriberId)>,
    /// The last that was given.
    version: Version,
}

/// Sends an answer, once it is known whether everything is committed.
type Answer = Box<dyn FnOnce(Result<(), StoreError>)>;

impl Writer {
    pub fn open(tables: Tables, bounds: Bounds, clock: Clock) -> Result<Self, StoreError> {
        let memory = Memory::read(&tables, Control::new(), clock())?;
        Ok(Writer { tables, bounds, clock, memory, is_doubtful: false })
    }

    /// Answers the requests. Takes see everything that was asked for before them.
    pub fn answer(&mut self, requests: Vec<Request>) {
        if self.is_doubtful {
            let control = std::mem::take(&mut self.memory.control);
            match Memory::read(&self.tables, control, (self.clock)()) {
                Ok(memory) => (self.memory, self.is_doubtful) = (memory, false),
                Err(error) => return requests.into_iter().for_each(|request| request.refused(error.clone())),
            }
        }
        let (takes, writes): (Vec<_>, Vec<_>) =
            requests.into_iter().partition(|request| matches!(request, Request::Take(..)));
        self.write(writes);
        for request in takes {
            let Request::Take(limit, lease, answered) = request else { continue };
            let _ = answered.send(self.take(limit, lease));
        }
        if let Err(error) = self.remove_garbage() {
            tracing::warn!(event = "subscribers_garbage", %error, "removed queues are not cleared away");
        }
    }

    fn write(&mut self, requests: Vec<Request>) {
        let (tables, now) = (self.tables.clone(), (self.clock)());
        let view = tables.view();
        let mut draft = Draft::new(&view, tables.durable_batch());
        let (mut answers, mut appends, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for request in requests {
            match self.memory.apply(&mut draft, request, &self.bounds, now) {
                Applied::Answer(answer) => answers.push(answer),
                Applied::Append(answered, appended) => appends.push((answered, appended)),
                Applied::Other(request) => others.push(request),
            }
        }
        let changed = self.commit(draft);
        let committed = changed.as_ref().map(drop).map_err(StoreError::clone);
        // Events beyond the bounds go before the answer.
        let grown = changed.unwrap_or_default().into_iter().filter(|changed| is_too_much(&changed.after, &self.bounds));
        let grown: Vec<_> = grown.map(|changed| changed.id).collect();
        let died = self.trim(&grown, now);
        answers.into_iter().for_each(|answer| answer(committed.clone()));
        let mut died = died.unwrap_or_default();
        for (answered, appended) in appends {
            let appended = appended.map(|appended| Appended { died: std::mem::take(&mut died), ..appended });
            let _ = answered.send(committed.clone().and(appended));
        }
        for request in others {
            match request {
                Request::Expire(answered) => drop(answered.send(self.expire(now))),
                Request::Totals(answered) => drop(answered.send(Ok(self.memory.totals()))),
                other => other.refused(StoreError::Away("it is answered elsewhere".to_owned())),
            }
        }
    }

    fn take(&mut self, limit: Limit, lease: Duration) -> Result<Due, StoreError> {
        let due = self.memory.control.due(Instant::now(), limit);
        // Expired events are not delivered.
        self.trim(&due, (self.clock)())?;
        let view = self.tables.view();
        let taken = take(&view, &mut self.memory.control, limit, lease)?;
        let slow = taken.iter().filter(|taken| taken.line == Line::Slow).count();
        let slow = self.memory.control.first(Line::Slow).filter(|_| slow < limit.slow);
        let first = self.memory.control.first(Line::Quick).into_iter().chain(slow).min();
        Ok(Due { taken, next: first.map(|first| first.saturating_duration_since(Instant::now())) })
    }

    fn expire(&mut self, now: u64) -> Result<u64, StoreError> {
        let mut with_events = Vec::new();
        self.tables.view().heads(None, |id, head| {
            if head.live.is_some_and(|live| live.depth > 0) {
                with_events.push(id);
            }
            Ok(true)
        })?;
        self.trim(&with_events, now)
    }

    /// Removes the events of these owners that exceed the bounds. Returns how many events these were.
    fn trim(&mut self, owners: &[SubscriberId], now: u64) -> Result<u64, StoreError> {
        let (tables, mut died) = (self.tables.clone(), 0);
        for owner in owners {
            let mut has_more = true;
            while has_more {
                let view = tables.view();
                let mut draft = Draft::new(&view, tables.batch());
                let (gone, more) = trim(&mut draft, owner, &self.bounds, now)?;
                self.commit(draft)?;
                if gone > 0 {
                    self.drop_dead(owner)?;
                }
                (has_more, died) = (more, died + gone);
            }
        }
        Ok(died)
    }

    fn drop_dead(&mut self, owner: &SubscriberId) -> Result<(), StoreError> {
        let tables = self.tables.clone();
        loop {
            let view = tables.view();
            let mut draft = Draft::new(&view, tables.batch());
            let dropped = drop_dead(&mut draft, owner, &self.bounds)?;
            if dropped == 0 {
                return Ok(());
            }
            self.commit(draft)?;
        }
    }

    fn commit(&mut self, draft: Draft) -> Result<Vec<Changed>, StoreError> {
        let changed = draft.commit().inspect_err(|error| {
            tracing::error!(event = "subscribers_not_written", %error, "queues of subscribers cannot be written");
            self.is_doubtful = true;
        })?;
        for Changed { id, before, after } in &changed {
            add(&mut self.memory.totals, before, -1);
            add(&mut self.memory.totals, after, 1);
            if let Some(since) = before.failing_since() {
                self.memory.failing.remove(&(since, id.clone()));
            }
            self.memory.failing.extend(after.failing_since().map(|since| (since, id.clone())));
        }
        Ok(changed)
    }

    fn remove_garbage(&mut self) -> Result<(), StoreError> {
        let view = self.tables.view();
        let Some(Garbage { key, events, keys }) = view.garbage(GARBAGE_MAX)? else { return Ok(()) };
        let mut batch = self.tables.batch();
        if keys.len() < GARBAGE_MAX {
            batch.remove(&self.tables.garbage, key);
        }
        keys.into_iter().for_each(|key| batch.remove(events.of(&self.tables), key));
        batch.commit().map_err(away)
    }
}

enum Applied {
    Answer(Answer),
    /// To be answered with what died of it.
    Append(Answered<Appended>, Result<Appended, StoreError>),
    /// It has commits of its own.
    Other(Request),
}

impl Memory {
    fn read(tables: &Tables, mut control: Control, now: u64) -> Result<Self, StoreError> {
        let (view, here) = (tables.view(), Instant::now());
        let (mut totals, mut failing) = (Totals::default(), BTreeSet::new());
        view.heads(None, |id, head| {
            add(&mut totals, &head, 1);
            failing.extend(head.failing_since().map(|since| (since, id.clone())));
            let Some(live) = head.live else { return Ok(true) };
            control.set_line(&id, live.line());
            match live.has_work() {
                true => control.enter(&id, here + Duration::from_millis(live.due.saturating_sub(now))),
                false => control.leave(&id),
            }
            Ok(true)
        })?;
        Ok(Memory { control, totals, failing, version: view.newest_version()? })
    }

    fn apply(&mut self, draft: &mut Draft, request: Request, bounds: &Bounds, now: u64) -> Applied {
        let control = &mut self.control;
        Applied::Answer(match request {
            Request::Append(part, events, answered) => {
                return Applied::Append(answered, append(draft, control, &part, &events, now));
            }
            Request::Change(id, version, asked, answered) => {
                self.version += 1;
                answer(answered, change(draft, control, &id, version, &asked, self.version))
            }
            Request::Done(owner, fence, how, answered) => {
                answer(answered, done(draft, control, &owner, fence, &how, now))
            }
            Request::Fill(asked, answered) => answer(answered, fill(draft, control, &asked, bounds, now)),
            Request::Resend(owner, answered) => answer(answered, resend(draft, control, &owner, bounds, now)),
            Request::MoveCursor(part, to, answered) => answer(answered, draft.move_cursor(&part, to)),
            Request::KeepMark(part, mark, answered) => {
                draft.keep_mark(&part, mark);
                answer(answered, Ok(()))
            }
            other @ (Request::Expire(_) | Request::Totals(_) | Request::Take(..)) => return Applied::Other(other),
        })
    }

    fn totals(&self) -> Totals {
        let waiting = self.control.first(Line::Quick).map(|first| Instant::now().saturating_duration_since(first));
        let failing_since = self.failing.first().map(|(since, _)| *since);
        Totals { waiting: waiting.unwrap_or_default(), failing_since, ..self.totals }
    }
}

/// Sends it, unless the commit has failed.
fn answer<T: 'static>(answered: Answered<T>, result: Result<T, StoreError>) -> Answer {
    Box::new(move |committed| drop(answered.send(committed.and(result))))
}

/// Whether its queue must be trimmed at once. What is too old goes when it would be delivered, or with an `expire`.
fn is_too_much(head: &Head, bounds: &Bounds) -> bool {
    head.live.as_ref().is_some_and(|live| live.depth > bounds.events || live.bytes > bounds.bytes)
}

fn add(totals: &mut Totals, head: &Head, sign: i64) {
    let add = |total: &mut u64, number: u64| *total = total.saturating_add_signed(sign * number as i64);
    add(&mut totals.dropped, head.dropped);
    let Some(live) = &head.live else { return };
    add(&mut totals.owners, 1);
    match live.status.state {
        State::Active => add(&mut totals.failing, u64::from(live.status.failing.is_some())),
        State::Paused(PauseReason::Requested | PauseReason::Other) => add(&mut totals.paused, 1),
        State::Paused(PauseReason::TriesUsedUp) => add(&mut totals.tries_used_up, 1),
        State::Disabled => add(&mut totals.disabled, 1),
    }
    add(&mut totals.events, live.depth);
    add(&mut totals.bytes, live.bytes);
    add(&mut totals.dead, live.dead);
}
