//! The users of one socket, who take turns on it.

use std::cell::Cell;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use super::stage::Stage;

/// The pause between two checks whether the load has begun.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The present user and the next one.
#[derive(Default)]
pub struct Visits {
    /// Counted from 0; `users_per_socket` in all.
    present: Cell<u32>,
    /// The next user; `None`: a random one.
    next: Cell<Option<u32>>,
    /// The present user is about to leave, and sends no more.
    is_leaving: Cell<bool>,
    /// Notified when the present user should leave, and when all of the leaving user's beats are acked.
    bell: Notify,
}

impl Visits {
    pub fn present(&self) -> u32 {
        self.present.get()
    }

    pub fn is_leaving(&self) -> bool {
        self.is_leaving.get()
    }

    /// Ends when the visit does: after a random time of half to one and a half times the average, or when another user
    /// is requested.
    pub async fn end(&self, stage: &Stage) {
        // A user who was about to leave when the socket was lost stays.
        self.is_leaving.set(false);
        tokio::select! {
            () = self.time(stage) => {}
            () = self.another() => {}
        }
        self.is_leaving.set(true);
    }

    /// Ends when all beats of the leaving user are acked.
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

    /// Makes the next user the present one.
    pub fn change(&self, stage: &Stage) {
        let users = stage.load.users_per_socket;
        let chosen = self.next.take().unwrap_or_else(|| (stage.share() * f64::from(users)) as u32);
        self.present.set(chosen.min(users - 1));
        self.is_leaving.set(false);
    }

    /// Requests that this user comes next, and ends the present visit.
    pub fn ask_for(&self, user: u32) {
        if self.present.get() != user {
            self.next.set(Some(user));
            self.bell.notify_one();
        }
    }

    async fn another(&self) {
        // A notification for an earlier user is ignored.
        while self.next.get().is_none() {
            self.bell.notified().await;
        }
    }

    /// The time of a visit. Users leave by themselves only under load.
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
