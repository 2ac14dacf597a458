//! Where beats and forgetting come in, from whatever edge.

use std::sync::Arc;
use std::time::Instant;

use super::coalesce::Slot;
use super::metrics::Metrics;
use super::source::Source;
use super::submit_queue::SubmitQueue;
use crate::domain::devices::inbox::{BeatRef, Inbox, Rejected};
use crate::domain::time::clock::Clock;
use crate::model::beat::Beat;
use crate::model::change::Action;
use crate::model::rule::{Admission, Reason};

/// Judges beats alone, and hands those that pass to the [`SubmitQueue`] of the thread and lane.
#[derive(Clone)]
pub struct Intake {
    pub submit_queue: Arc<SubmitQueue>,
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
                let place = BeatRef { seq: source.seq, index };
                taken.rejected.push(Rejected { place, reason, record: None });
                None
            }
        });
        taken.slots = self.submit_queue.submit(source, admitted);
        taken.clock = taken.rejected.iter().any(|rejected| rejected.reason == Reason::Clock).then_some(now);
        taken
    }

    /// A beat that is to be [submitted](Self::submit_held) later; nothing, if it is rejected alone.
    pub fn hold(&self, source: &Source, beat: &Beat) -> Option<Slot> {
        self.admission.judge(beat, self.clock.now()).ok()?;
        let Source { inbox, device, seq, read, flag, decisions } = *source;
        let known = decisions.of(beat.content, flag);
        Some(Slot::new(inbox.clone(), device.clone(), *beat, BeatRef { seq, index: 0 }, known, read))
    }

    /// The inbox gets one answer. `now`: from when on the time to the commit is measured.
    pub fn submit_held(&self, mut slot: Slot, now: Instant) {
        slot.opened = now;
        self.submit_queue.submit_held(slot);
    }

    /// A forgetting or a switch; its outcome comes to the inbox.
    pub fn order(&self, inbox: &Arc<Inbox>, action: Action) {
        self.submit_queue.order(inbox, action);
    }
}
