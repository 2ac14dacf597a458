//! The list of changes that wait for the live thread.

use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use crate::commit_listener::{CommitListener, CommittedGroup};
use crate::time::clock::Clock;
use model::change::Outcome;
use model::ids::UserId;
use model::live::LiveChange;

/// Changes that wait, 56 bytes each: more than a tenth of a second can bring.
const WAITING_MAX: usize = 262_144;

/// A list that commits fill and the live thread empties. A full list drops further changes: a session is then counted
/// with its next beat, and ends by its timeout.
pub struct LiveInlet {
    waiting: Mutex<Vec<LiveChange>>,
    most: usize,
    clock: Arc<Clock>,
    late: Counter,
}

impl LiveInlet {
    pub fn new(clock: Arc<Clock>, registry: &mut Registry) -> Self {
        Self::of(WAITING_MAX, clock, registry)
    }

    pub(super) fn of(most: usize, clock: Arc<Clock>, registry: &mut Registry) -> Self {
        let late = Counter::default();
        let meaning = "Changes that the live numbers missed because too many were waiting; they are late by a beat";
        registry.register("live_late", meaning, late.clone());
        LiveInlet { waiting: Mutex::default(), most, clock, late }
    }

    pub fn kicked(&self, user: UserId) {
        let at = self.clock.now();
        self.add([LiveChange::Kicked { user, at }]);
    }

    /// Takes note of an erasure by another gateway. An erasure by this one comes with its commit.
    pub fn erased(&self, user: UserId) {
        self.add([LiveChange::Erased(user)]);
    }

    /// Takes all waiting changes. `empty`: a list whose memory is used for the next ones.
    pub fn take(&self, empty: Vec<LiveChange>) -> Vec<LiveChange> {
        std::mem::replace(&mut *self.waiting.lock(), empty)
    }

    #[cfg(test)]
    pub(super) fn late(&self) -> u64 {
        self.late.get()
    }

    fn add(&self, changes: impl IntoIterator<Item = LiveChange>) {
        let mut waiting = self.waiting.lock();
        for change in changes {
            if waiting.len() < self.most {
                waiting.push(change);
            } else {
                self.late.inc();
            }
        }
    }
}

impl CommitListener for LiveInlet {
    fn name(&self) -> &'static str {
        "live"
    }

    fn committed(&self, group: &CommittedGroup) {
        self.add(group.changes.iter().flat_map(|change| {
            let erased = matches!(change.outcome, Outcome::Erased { moved: true, .. })
                .then_some(LiveChange::Erased(change.user));
            let of = |transition| LiveChange::of(transition, change.visitor);
            group.transitions_of(change).filter_map(of).chain(erased)
        }));
    }
}
