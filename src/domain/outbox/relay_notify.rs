//! The notifications that wake the relay.

use tokio::sync::Notify;

/// Notified after each commit that has added to the outbox. A notification before the wait ends the wait, too;
/// notifications are not counted.
#[derive(Debug, Default)]
pub struct RelayNotify {
    added: Notify,
    crowded: Notify,
}

impl RelayNotify {
    /// The outbox has new entries. `crowded`: it fills up.
    pub fn notify(&self, crowded: bool) {
        self.added.notify_one();
        if crowded {
            self.crowded.notify_one();
        }
    }

    /// Waits until the outbox has new entries.
    pub async fn added(&self) {
        self.added.notified().await;
    }

    /// Waits until the outbox fills up.
    pub async fn crowded(&self) {
        self.crowded.notified().await;
    }
}
