//! What wakes the relay.

use tokio::sync::Notify;

/// Rung with the claims of a commit. Whoever listens hears a ring that came before, too, but not how many there were.
#[derive(Debug, Default)]
pub struct ClaimBell {
    claimed: Notify,
    crowded: Notify,
}

impl ClaimBell {
    /// Something was claimed. `crowded`: the outbox fills up.
    pub fn ring(&self, crowded: bool) {
        self.claimed.notify_one();
        if crowded {
            self.crowded.notify_one();
        }
    }

    /// Waits until something was claimed.
    pub async fn claimed(&self) {
        self.claimed.notified().await;
    }

    /// Waits until the outbox fills up.
    pub async fn crowded(&self) {
        self.crowded.notified().await;
    }
}
