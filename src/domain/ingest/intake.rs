//! The entry of beats and orders from any edge.

use std::sync::Arc;

use super::metrics::Metrics;
use super::source::Source;
use super::submit_queue::SubmitQueue;
use crate::devices::inbox::{BeatRef, Inbox, Rejected};
use crate::time::clock::Clock;
use model::beat::{Beat, DEVICE_BYTES_MAX};
use model::change::Action;
use model::rule::{Admission, Reason};

/// Checks each beat by itself, and submits good ones to the [`SubmitQueue`] of the thread and lane.
#[derive(Clone)]
pub struct Intake {
    pub submit_queue: Arc<SubmitQueue>,
    pub admission: Admission,
    pub clock: Arc<Clock>,
    pub metrics: Metrics,
}

/// The immediate result of the beats of one frame.
#[derive(Debug, Default)]
pub struct Taken {
    /// The number of opened slots, each of which will be answered.
    pub slots: usize,
    /// The beats that were rejected at once; they take no slot.
    pub rejected: Vec<Rejected>,
    /// The server's clock, when a beat was ahead of it.
    pub clock: Option<u64>,
}

impl Intake {
    pub fn beats(&self, source: &Source, items: &[Beat]) -> Taken {
        let now = self.clock.now();
        let mut taken = Taken::default();
        let has_name = source.device.len() <= DEVICE_BYTES_MAX;
        let judge = |beat, index| match has_name && !source.misnamed.contains(&index) {
            true => self.admission.judge(beat, now),
            false => Err(Reason::Invalid),
        };
        let admitted = items.iter().zip(0..).filter_map(|(beat, index)| match judge(beat, index) {
            Ok(()) => Some((index, *beat)),
            Err(reason) => {
                self.metrics.beats.rejected(reason);
                let beat_ref = BeatRef { seq: source.seq, index };
                self.submit_queue.trace.rejected(source.inbox, beat.content, beat_ref, reason);
                taken.rejected.push(Rejected { beat_ref, reason, record: None });
                None
            }
        });
        let submitted = self.submit_queue.submit(source, admitted);
        taken.slots = submitted.slots;
        self.metrics.held.inc_by(u64::from(submitted.held));
        taken.clock = taken.rejected.iter().any(|rejected| rejected.reason == Reason::Clock).then_some(now);
        taken
    }

    /// Submits a delete, a clear, an erasure or a switch of recording; its outcome comes to the inbox.
    pub fn order(&self, inbox: &Arc<Inbox>, action: Action) {
        self.submit_queue.order(inbox, action);
    }
}
