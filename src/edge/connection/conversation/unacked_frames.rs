//! The unanswered beats of a connection, and the answers that are not sent yet.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Instant;

use crate::protocol::frame::{Ack, Rejection};
use domain::devices::inbox::Rejected;
use domain::ingest::ack::Unacked;
use model::rewards::day::Day;

/// Records that accompany the rejections of one frame.
const RECORDS_MAX: u32 = 64;

#[derive(Default)]
pub struct UnackedFrames {
    pub frames: Unacked,
    /// When steady beats are to be acked at the latest; `None`: as soon as they are committed.
    pub due: Option<Instant>,
    /// Whether the inbox was told that steady answers may wait.
    pub patient: bool,
    pub rejected: Vec<Rejected>,
    /// The server's clock, when a beat was ahead of it.
    pub clock: Option<NonZeroU64>,
    said: u32,
}

impl UnackedFrames {
    /// The ack of newly answered frames, if it is to be sent now; a rejection never comes after the ack that covers it.
    /// `flag`: today, if all rules are decided for the user.
    pub fn ack(&mut self, flag: impl FnOnce() -> Option<Day>) -> Option<Ack> {
        let seq = self.frames.acked();
        // Frames that are not committed by now are acked with their commit.
        self.due = None;
        if seq == self.said && self.rejected.is_empty() {
            return None;
        }
        self.said = seq;
        let mut records: BTreeMap<u32, u32> = BTreeMap::new();
        let mut is_among_the_first = |seq| {
            let count = records.entry(seq).or_default();
            *count += 1;
            *count <= RECORDS_MAX
        };
        let rejection = |rejected: Rejected| Rejection {
            seq: Some(rejected.beat_ref.seq),
            index: rejected.beat_ref.index,
            reason: rejected.reason,
            record: rejected.record.filter(|_| is_among_the_first(rejected.beat_ref.seq)),
        };
        let rejected = std::mem::take(&mut self.rejected).into_iter().map(rejection).collect();
        Some(Ack { seq, flag: flag(), rejected, now: self.clock.take().map(NonZeroU64::get) })
    }
}
