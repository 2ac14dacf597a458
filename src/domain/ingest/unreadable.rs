//! Users whose stored state cannot be read, for an operator to repair.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use crate::commit_listener::{CommitListener, CommittedChange, CommittedGroup};
use model::change::Outcome;
use model::mid_hash::MidHash;

/// Counts and logs the changes that were refused. Clients try again, and each attempt is logged.
pub struct UnreadableLog {
    mid_hash: MidHash,
    changes: Counter,
}

impl UnreadableLog {
    pub fn new(mid_hash: MidHash, registry: &mut Registry) -> Self {
        let changes = Counter::default();
        let meaning =
            "Beats and operations that were not committed because the stored state of their user cannot be read";
        registry.register("unreadable_changes", meaning, changes.clone());
        UnreadableLog { mid_hash, changes }
    }
}

impl CommitListener for UnreadableLog {
    fn name(&self) -> &'static str {
        "unreadable_log"
    }

    fn committed(&self, group: &CommittedGroup) {
        let mut logged = None;
        for CommittedChange { user, outcome, .. } in &group.changes {
            let Outcome::Unreadable { why } = outcome else { continue };
            self.changes.inc();
            if logged.replace(user) != Some(user) {
                tracing::error!(
                    event = "stored_state_unreadable",
                    user = %self.mid_hash.of(*user),
                    why = &**why,
                    "stored state of a user cannot be read; their beats and operations are refused"
                );
            }
        }
    }
}
