//! Removes what nobody can see any more: cleared and outlived records, outlived tombstones, clears and pauses.
//!
//! One thread looks for them, in steps of [`STEP_ROWS`] with a pause after each: at the rows of a user who has just
//! cleared, and every `prune_interval` at everything. What it finds it removes as a committer, at most [`REMOVALS_MAX`]
//! rows at a time, after looking again; so no commit waits long for it, and none is undone by it. Removals are not
//! synced: one that is lost is made again.
//!
//! Time is that of commits and reads, but never after the wall clock, and two passes have to agree on it
//! ([`AgreedTime`]). A store that is not used prunes nothing.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Shared;
use super::removal::{self, REMOVALS_MAX, Row, row_of};
use super::tables::{ReadError, View};
use crate::model::ids::{Content, UserId};
use crate::storage::embedded::Clock;
use crate::storage::embedded::agreed_time::AgreedTime;
use crate::storage::hot_store::StoreError;
use crate::storage::hot_store::config::Config;

const STEP_ROWS: usize = 1024;
const PAUSE: Duration = Duration::from_millis(5);
/// Users who have cleared and wait for it; when it is full, the next pass over everything does it.
const CLEARED_MAX: usize = 1024;

pub struct Pruner {
    cleared: Option<SyncSender<UserId>>,
    thread: Option<JoinHandle<()>>,
}

impl Pruner {
    /// `wall_clock`: milliseconds since 1970. `newest_commit`: the one that the store was opened with.
    pub fn start(shared: Arc<Shared>, config: &Config, wall_clock: Clock, newest_commit: u64) -> std::io::Result<Self> {
        let (cleared, asked) = sync_channel(CLEARED_MAX);
        let interval = config.prune_interval;
        let time = AgreedTime::new(config.clock_step_max, newest_commit, Instant::now());
        let pass = Pass { shared, asked, wall_clock, time: RefCell::new(time) };
        let thread = thread::Builder::new().name("store-prune".into()).spawn(move || pass.run(interval))?;
        Ok(Pruner { cleared: Some(cleared), thread: Some(thread) })
    }

    /// Has the user's rows looked at soon.
    pub fn cleared(&self, user: UserId) {
        if let Some(cleared) = &self.cleared {
            let _ = cleared.try_send(user);
        }
    }
}

impl Drop for Pruner {
    fn drop(&mut self) {
        self.cleared = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Why pruning ends.
enum Stop {
    Closing,
    Error(StoreError),
}

struct Pass {
    shared: Arc<Shared>,
    asked: Receiver<UserId>,
    wall_clock: Clock,
    time: RefCell<AgreedTime>,
}

impl Pass {
    fn run(&self, interval: Duration) {
        let mut due = Instant::now() + interval;
        loop {
            let ended = match self.asked.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(user) => self.user(user),
                Err(RecvTimeoutError::Timeout) => {
                    let ended = self.everything();
                    due = Instant::now() + interval;
                    ended
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            match ended {
                Ok(()) => {}
                Err(Stop::Closing) => return,
                Err(Stop::Error(StoreError::Away(why))) => {
                    tracing::warn!(event = "prune_postponed", reason = why, "pruning postponed")
                }
                Err(Stop::Error(error)) => {
                    tracing::error!(event = "prune_stopped", %error, "pruning stopped until restart");
                    return;
                }
            }
        }
    }

    /// By what is agreed on; what a clear hides goes in any case.
    fn horizon(&self) -> u64 {
        self.shared.admission.horizon(self.time.borrow().at(Instant::now(), self.now()))
    }

    fn now(&self) -> u64 {
        self.shared.now.load(Ordering::Relaxed).min((self.wall_clock)())
    }

    fn user(&self, user: UserId) -> Result<(), Stop> {
        let horizon = self.horizon();
        let dead = dead_rows_of(&self.shared.tables.view(), user, horizon).map_err(unread)?;
        for rows in dead.chunks(REMOVALS_MAX) {
            self.shared.committer()?.remove_dead(rows, horizon)?;
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn everything(&self) -> Result<(), Stop> {
        let now = self.now();
        if !self.time.borrow_mut().read(now, Instant::now()) {
            tracing::debug!(now, "pruning by age postponed: two passes disagree on the time");
        }
        let horizon = self.horizon();
        let mut from = Some((UserId(0), Content { kind: 0, oid: 0 }));
        while let Some(place) = from {
            let (dead, next) = dead_rows_from(&self.shared.tables.view(), place, horizon).map_err(unread)?;
            for rows in dead.chunks(REMOVALS_MAX) {
                self.shared.committer()?.remove_dead(rows, horizon)?;
                self.pause()?;
            }
            self.pause()?;
            from = next;
        }
        // After the rows, so that nothing is left that an outlived clear still hides.
        let mut from = Some(UserId(0));
        while let Some(place) = from {
            let (outlived, next) = outlived_users_from(&self.shared.tables.view(), place, horizon).map_err(unread)?;
            for users in outlived.chunks(REMOVALS_MAX) {
                self.shared.committer()?.prune_users(users, horizon)?;
                self.pause()?;
            }
            self.pause()?;
            from = next;
        }
        Ok(())
    }

    /// Leaves the store to others for a while, and looks at who has cleared in between.
    fn pause(&self) -> Result<(), Stop> {
        match self.asked.recv_timeout(PAUSE) {
            Ok(user) => self.user(user),
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => Err(Stop::Closing),
        }
    }
}

fn dead_rows_of(view: &View, user: UserId, horizon: u64) -> Result<Vec<Row>, ReadError> {
    let user_row = view.user(user)?;
    let mut dead = Vec::new();
    for stored in view.contents_of(user) {
        let (content, mut row) = stored?;
        if row.prune(&user_row, horizon) {
            dead.push((user, content));
        }
    }
    Ok(dead)
}

/// The dead ones among the next rows, and where to go on.
fn dead_rows_from(view: &View, from: Row, horizon: u64) -> Result<(Vec<Row>, Option<Row>), ReadError> {
    let mut dead = Vec::new();
    let mut of = None;
    for (seen, stored) in view.contents_from(from.0, from.1).enumerate() {
        let (user, content, mut row) = stored?;
        if seen == STEP_ROWS {
            return Ok((dead, Some((user, content))));
        }
        if row.prune(row_of(view, &mut of, user)?, horizon) {
            dead.push((user, content));
        }
    }
    Ok((dead, None))
}

fn outlived_users_from(view: &View, from: UserId, horizon: u64) -> Result<(Vec<UserId>, Option<UserId>), ReadError> {
    let mut outlived = Vec::new();
    for (seen, stored) in view.users_from(from).enumerate() {
        let (user, mut row) = stored?;
        if seen == STEP_ROWS {
            return Ok((outlived, Some(user)));
        }
        if removal::prune_user(&mut row, horizon) {
            outlived.push(user);
        }
    }
    Ok((outlived, None))
}

fn unread(error: ReadError) -> Stop {
    Stop::Error(StoreError::Away(error.to_string()))
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Stop::Error(error)
    }
}
