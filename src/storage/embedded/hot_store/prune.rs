//! Finds users with rows that no read returns any more: cleared and expired records, expired tombstones, clears and
//! pauses.
//!
//! One thread reads the whole store every `prune_interval`, in steps of [`STEP_ROWS`] with a pause after each. A user
//! that has just cleared is noted without a search. The users found wait here until the janitor asks for them, and are
//! [pruned](model::change::Action::Prune) by ordinary commits. A user that is not pruned is found again.
//!
//! The time is that of commits and reads, but never after the wall clock, and two passes have to agree on it
//! ([`AgreedTime`]). In a store without commits and reads nothing expires.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::Shared;
use super::tables::{ReadError, View};
use crate::agreed_time::AgreedTime;
use model::forgetting::UserRow;
use model::ids::{Content, UserId};
use storage::Clock;
use storage::hot_store::Due;
use storage::hot_store::config::Config;

const STEP_ROWS: usize = 1024;
const PAUSE: Duration = Duration::from_millis(5);
/// Users found that wait to be pruned. When there are so many, the search waits, and a user that clears is found by the
/// next pass.
const FOUND_MAX: usize = 1024;
/// Users that are returned at one time.
const DUE_MAX: usize = 32;

pub struct Pruner {
    horizon: Arc<Horizon>,
    found: Option<SyncSender<UserId>>,
    due: Arc<Mutex<Receiver<UserId>>>,
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Pruner {
    /// `wall_clock`: milliseconds since 1970. `newest_commit`: the one that the store was opened with.
    pub fn start(shared: Arc<Shared>, config: &Config, wall_clock: Clock, newest_commit: u64) -> std::io::Result<Self> {
        let (found, due) = sync_channel(FOUND_MAX);
        let (stop, stopped) = sync_channel(0);
        let interval = config.prune_interval;
        let time = AgreedTime::new(config.clock_step_max, newest_commit, Instant::now());
        let horizon = Arc::new(Horizon { shared: shared.clone(), wall_clock, time: Mutex::new(time) });
        let pass = Pass { shared, horizon: horizon.clone(), found: found.clone(), stopped };
        let thread = thread::Builder::new().name("store-prune".into()).spawn(move || pass.run(interval))?;
        let due = Arc::new(Mutex::new(due));
        Ok(Pruner { horizon, found: Some(found), due, stop: Some(stop), thread: Some(thread) })
    }

    /// Takes note of a user with rows to remove.
    pub fn cleared(&self, user: UserId) {
        if let Some(found) = &self.found {
            let _ = found.try_send(user);
        }
    }

    /// The next users to prune.
    pub fn due(&self) -> Due {
        let found = self.due.lock();
        Due { users: found.try_iter().take(DUE_MAX).collect(), horizon: self.horizon.get() }
    }
}

impl Drop for Pruner {
    fn drop(&mut self) {
        (self.found, self.stop) = (None, None);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The moment before which rows have expired.
struct Horizon {
    shared: Arc<Shared>,
    wall_clock: Clock,
    time: Mutex<AgreedTime>,
}

impl Horizon {
    /// The horizon by the agreed time. Rows hidden by a clear are removed without it.
    fn get(&self) -> u64 {
        self.shared.admission.retention.horizon(self.time().at(Instant::now(), self.now()))
    }

    /// Reads the time for another pass.
    fn read(&self) {
        let now = self.now();
        if !self.time().read(now, Instant::now()) {
            tracing::debug!(now, "pruning by age postponed: two passes disagree on the time");
        }
    }

    fn now(&self) -> u64 {
        self.shared.now.load(Ordering::Relaxed).min((self.wall_clock)())
    }

    fn time(&self) -> MutexGuard<'_, AgreedTime> {
        self.time.lock()
    }
}

type Row = (UserId, Content);

/// The reason why a pass ends.
enum Stop {
    Closing,
    Unread(ReadError),
}

struct Pass {
    shared: Arc<Shared>,
    horizon: Arc<Horizon>,
    found: SyncSender<UserId>,
    stopped: Receiver<()>,
}

impl Pass {
    fn run(&self, interval: Duration) {
        while !self.stops_within(interval) {
            match self.everything() {
                Ok(()) => {}
                Err(Stop::Closing) => return,
                Err(Stop::Unread(error)) => {
                    tracing::warn!(event = "prune_postponed", reason = %error, "pruning postponed")
                }
            }
        }
    }

    fn everything(&self) -> Result<(), Stop> {
        self.horizon.read();
        let horizon = self.horizon.get();
        let mut from = Some((UserId(0), Content { kind: 0, oid: 0 }));
        while let Some(start) = from {
            let (found, next) = dead_rows_from(&self.shared.tables.view(), start, horizon)?;
            self.hand_out(found)?;
            from = next;
        }
        let mut from = Some(UserId(0));
        while let Some(start) = from {
            let (found, next) = expired_users_from(&self.shared.tables.view(), start, horizon)?;
            self.hand_out(found)?;
            from = next;
        }
        Ok(())
    }

    /// Passes the users on, and pauses so that others can use the store.
    fn hand_out(&self, users: Vec<UserId>) -> Result<(), Stop> {
        for user in users {
            while let Err(TrySendError::Full(_)) = self.found.try_send(user) {
                self.pause()?;
            }
        }
        self.pause()
    }

    fn pause(&self) -> Result<(), Stop> {
        if self.stops_within(PAUSE) { Err(Stop::Closing) } else { Ok(()) }
    }

    fn stops_within(&self, time: Duration) -> bool {
        self.stopped.recv_timeout(time) == Err(RecvTimeoutError::Disconnected)
    }
}

/// The users with dead rows among the next rows, and the row to continue at.
fn dead_rows_from(view: &View, from: Row, horizon: u64) -> Result<(Vec<UserId>, Option<Row>), ReadError> {
    let mut found = Vec::new();
    let mut of = None;
    for (seen, stored) in view.contents_from(from.0, from.1).enumerate() {
        let (user, content, mut row) = stored?;
        if seen == STEP_ROWS {
            return Ok((found, Some((user, content))));
        }
        if found.last() != Some(&user) && row.prune(row_of(view, &mut of, user)?, horizon) {
            found.push(user);
        }
    }
    Ok((found, None))
}

fn expired_users_from(view: &View, from: UserId, horizon: u64) -> Result<(Vec<UserId>, Option<UserId>), ReadError> {
    let mut expired = Vec::new();
    for (seen, stored) in view.users_from(from).enumerate() {
        let (user, mut row) = stored?;
        if seen == STEP_ROWS {
            return Ok((expired, Some(user)));
        }
        if row.prune(horizon) {
            expired.push(user);
        }
    }
    Ok((expired, None))
}

/// The user's row, read once for all adjacent rows of the user.
fn row_of<'o>(view: &View, of: &'o mut Option<(UserId, UserRow)>, user: UserId) -> Result<&'o UserRow, ReadError> {
    if of.as_ref().is_none_or(|(last, _)| *last != user) {
        *of = Some((user, view.user(user)?));
    }
    Ok(&of.as_ref().expect("it has just been read").1)
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Stop::Unread(error)
    }
}
