//! Owners whose records cannot be read. They are left out; the others are served.

use std::collections::HashSet;
use std::fmt::Display;
use std::sync::Arc;

use parking_lot::Mutex;

/// Which of them were logged: each is logged once in the life of a process, though it is come across again and again.
#[derive(Clone, Default)]
pub struct UnreadableOwners(Arc<Mutex<HashSet<String>>>);

impl UnreadableOwners {
    pub fn found(&self, owner: &str, error: &dyn Display) {
        if self.0.lock().insert(owner.to_owned()) {
            tracing::error!(event = "owner_unreadable", owner, %error, "a subscriber cannot be read; left out");
        }
    }

    /// `None` if it cannot be read, which is logged.
    pub fn readable<T, E: Display>(&self, owner: &str, read: Result<T, E>) -> Option<T> {
        read.inspect_err(|error| self.found(owner, error)).ok()
    }
}
