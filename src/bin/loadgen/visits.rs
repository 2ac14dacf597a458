//! The users of one socket, who take turns on it.

use std::cell::Cell;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use super::stage::Stage;

/// How often it is looked whether the load has begun.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Who is there, and who comes next.
#[derive(Default)]
pub struct Visits {
    /// Counted from 0; `users_per_socket` in all.
    present: Cell<u32>,
    /// The user who is to come next, if that is not left to chance.
    next: Cell<Option<u32>>,
    /// The present user has decided to go, and sends no more.
    is_leaving: Cell<bool>,
    /// Rung when the present user is to go, and when nothing of theirs is unacked any more.
    bell: Notify,
}

impl Visits {
    pub fn present(&self) -> u32 {
        self.present.get()
    }

    pub fn is_leaving(&self) -> bool {
        self.is_leaving.get()
    }

    /// Ends when the visit does: after its time, some users staying half as long and some half as long again, or when
    /// another user is asked for.
    pub async fn end(&self, stage: &Stage) {
        // A user who was about to leave when the socket was lost stays.
        self.is_leaving.set(false);
        tokio::select! {
            () = self.time(stage) => {}
            () = self.another() => {}
        }
        self.is_leaving.set(true);
    }

    /// Ends once all that the leaving user has sent is acked.
    pub async fn is_quiet(&self, is_acked: impl Fn() -> bool) {
        while !is_acked() {
            self.bell.notified().await;
        }
    }

    pub fn acked_all(&self) {
        if self.is_leaving.get() {
            self.bell.notify_one();
        }
    }

    /// Lets the next user in.
    pub fn change(&self, stage: &Stage) {
        let users = stage.load.users_per_socket;
        let chosen = self.next.take().unwrap_or_else(|| (stage.share() * f64::from(users)) as u32);
        self.present.set(chosen.min(users - 1));
        self.is_leaving.set(false);
    }

    /// Has this user come next, and now.
    pub fn ask_for(&self, user: u32) {
        if self.present.get() != user {
            self.next.set(Some(user));
            self.bell.notify_one();
        }
    }

    async fn another(&self) {
        // A bell that rang for an earlier user means nothing any more.
        while self.next.get().is_none() {
            self.bell.notified().await;
        }
    }

    /// Only under load users go by themselves.
    async fn time(&self, stage: &Stage) {
        let visit = stage.load.visit;
        if visit.is_zero() {
            return std::future::pending().await;
        }
        while stage.now().is_none() {
            sleep(LOOK_EVERY).await;
        }
        sleep(visit.mul_f64(0.5 + stage.share())).await;
        if stage.is_over() {
            std::future::pending().await
        }
    }
}
