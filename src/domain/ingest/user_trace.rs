//! At level debug a line for each rejected beat, each delete and each clear, whatever edge it came by, so that one user can
//! be followed.

use super::coalesce::Entry;
use crate::devices::inbox::{BeatRef, Inbox};
use model::change::{Action, Outcome};
use model::ids::Content;
use model::mid_hash::MidHash;
use model::rule::{Reason, Verdict};

/// Names users by their hash, and the connection that a change came from or was made for.
#[derive(Clone, Debug)]
pub struct UserTrace(MidHash);

impl UserTrace {
    pub fn new(mid_hash: MidHash) -> Self {
        UserTrace(mid_hash)
    }

    pub fn rejected(&self, inbox: &Inbox, content: Content, beat_ref: BeatRef, reason: Reason) {
        tracing::debug!(
            event = "beat_rejected",
            user = %self.0.of(inbox.user),
            connection = %inbox.origin,
            seq = beat_ref.seq,
            index = beat_ref.index,
            kind = content.kind,
            oid = content.oid,
            reason = reason.word(),
            "beat rejected"
        );
    }

    /// Logs what became of an entry that was committed.
    pub(super) fn answered(&self, entry: &Entry, outcome: &Outcome) {
        // Most are beats that are written: they cost no more than this question.
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return;
        }
        match (entry, outcome) {
            (Entry::Slot(slot), Outcome::Beat { verdict, skipped }) => {
                let rejected =
                    |back, reason| self.rejected(&slot.inbox, slot.beat.content, slot.beat_ref(back), reason);
                if let Verdict::Rejected { reason, .. } = verdict {
                    rejected(*skipped, *reason);
                }
                (0..*skipped).rev().for_each(|back| rejected(back, Reason::NotRecording));
            }
            (Entry::Order { inbox, action, .. }, outcome) => self.ordered(inbox, action, outcome),
            _ => {}
        }
    }

    fn ordered(&self, inbox: &Inbox, action: &Action, outcome: &Outcome) {
        let (user, connection) = (self.0.of(inbox.user), inbox.origin);
        match (action, outcome) {
            (Action::Delete { contents, .. }, Outcome::Deleted { moved, at }) => {
                let (contents, changed) = (contents.len(), moved.len());
                tracing::debug!(event = "deleted", %user, %connection, contents, changed, at, "contents deleted");
            }
            (Action::Clear { .. }, Outcome::Cleared { moved, at }) => {
                tracing::debug!(event = "cleared", %user, %connection, changed = moved, at, "history cleared");
            }
            (Action::Delete { at, .. } | Action::Clear { at } | Action::Recording { at, .. }, Outcome::Ahead) => {
                tracing::debug!(event = "operation_rejected", %user, %connection, at, reason = "clock", "at is ahead of the clock");
            }
            _ => {}
        }
    }
}
