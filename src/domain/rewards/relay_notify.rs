//! What wakes the relay.

use tokio::sync::Notify;

/// Notified after each commit that made claims. A notification that came before the wait is seen, too; they are not counted.
#[derive(Debug, Default)]
pub struct RelayNotify {
    claimed: Notify,
    crowded: Notify,
}

impl RelayNotify {
    /// Something was claimed. `crowded`: the outbox fills up.
    pub fn notify(&self, crowded: bool) {
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
