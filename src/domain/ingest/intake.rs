//! Where beats and forgetting come in, from whatever edge.

use std::sync::Arc;

use super::lane::Lane;
use super::metrics::Metrics;
use super::source::Source;
use crate::domain::clock::Clock;
use crate::domain::devices::mailbox::{Mailbox, Place, Rejected};
use crate::model::beat::Beat;
use crate::model::change::{Action, When};
use crate::model::rule::{Admission, Reason};

/// Judges beats alone, and hands those that pass to the thread's [`Lane`].
#[derive(Clone)]
pub struct Intake {
    pub lane: Arc<Lane>,
    pub admission: Admission,
    pub clock: Arc<Clock>,
    pub metrics: Metrics,
}

/// What became of the beats of one frame so far.
#[derive(Debug, Default)]
pub struct Taken {
    /// Slots that were opened: so many answers will come.
    pub slots: usize,
    /// Answered at once; they take no slot.
    pub rejected: Vec<Rejected>,
    /// The server's clock, when a beat was ahead of it.
    pub clock: Option<u64>,
}

impl Intake {
    pub fn beats(&self, source: &Source, items: &[Beat]) -> Taken {
        let now = self.clock.now();
        let mut taken = Taken::default();
        let admitted = items.iter().zip(0..).filter_map(|(beat, index)| match self.admission.judge(beat, now) {
            Ok(()) => Some((index, *beat)),
            Err(reason) => {
                self.metrics.beats.rejected(reason);
                let place = Place { seq: source.seq, index };
                taken.rejected.push(Rejected { place, reason, record: None });
                None
            }
        });
        taken.slots = self.lane.submit(source, admitted);
        taken.clock = taken.rejected.iter().any(|rejected| rejected.reason == Reason::Clock).then_some(now);
        taken
    }

    /// From when on a forgetting or a switch holds that came with this `at`, or without one just now.
    pub fn when(&self, at: Option<u64>) -> When {
        at.map_or_else(|| When::Asked(self.clock.now()), When::At)
    }

    /// A forgetting or a switch; its outcome comes to the mailbox.
    pub fn order(&self, mailbox: &Arc<Mailbox>, action: Action) {
        self.lane.order(mailbox, action);
    }
}
