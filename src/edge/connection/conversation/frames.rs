//! Frames of a client: read one after the other, and started when everything they wait for is done.

use std::time::Instant;

use super::read::Read;
use super::state::{Busy, HeldFrame};
use super::{Conversation, OPERATION_TIMEOUT};
use crate::connection::close::CloseReason;
use crate::protocol::frame::{ClientFrame, DecodeError, ErrorCode, Operation};
use crate::protocol::json;
use domain::ingest::submit_queue::SubmitQueue;

/// Uncommitted beats of a connection, for each slot that it may have: slots keep their beats.
const BEATS_PER_SLOT: usize = 4;

impl Conversation {
    /// Handles one message; a long one waits for its turn. Does nothing unless the conversation
    /// [listens](Self::listens).
    pub fn receive(&mut self, text: &str, now: Instant) {
        if !self.listens() {
            return;
        }
        if text.len() < SubmitQueue::LONG_FRAME_BYTES {
            return self.take_in(text, now + OPERATION_TIMEOUT, now);
        }
        match self.intake().submit_queue.try_large_frame_permit() {
            Some(permit) => self.take_in_long(text, permit, now),
            None => {
                let until = Some(now + OPERATION_TIMEOUT);
                self.state.hold(HeldFrame::Text { text: text.to_owned(), until });
            }
        }
    }

    pub(super) fn take_in(&mut self, text: &str, deadline: Instant, now: Instant) {
        let mut beats_started = false;
        match json::decode(text, &self.context.frame_limits()) {
            Ok(frame) => match self.use_up(frame.seq) {
                Ok(()) if self.may_start(&frame.operation) => {
                    beats_started = matches!(frame.operation, Operation::Beats(_));
                    self.start(frame, now);
                }
                Ok(()) => self.state.hold(HeldFrame::Frame { frame, deadline, permit: None }),
                Err(message) => self.fail(Some(frame.seq), ErrorCode::Invalid, message, now),
            },
            Err(DecodeError { seq, code, message, .. }) => match seq.map_or(Ok(()), |seq| self.use_up(seq)) {
                Ok(()) => self.fail(seq, code, message, now),
                Err(message) => self.fail(seq, ErrorCode::Invalid, message, now),
            },
        }
        if self.seq == u32::MAX {
            self.end_later(CloseReason::OutOfNumbers, now);
        }
        // Anything but beats commits what is held; of beats the queue decides.
        if !beats_started {
            self.release_beats();
        }
    }

    fn use_up(&mut self, seq: u32) -> Result<(), String> {
        if seq <= self.seq {
            return Err(format!("seq: must be greater than {}", self.seq));
        }
        self.seq = seq;
        Ok(())
    }

    /// Whether all that the operation has to wait for is done.
    pub(super) fn may_start(&self, operation: &Operation) -> bool {
        let slots = self.beats.frames.slots();
        match operation {
            Operation::Beats(beats) => {
                let (more, most) = (beats.items.len(), self.context.limits.uncommitted_slots);
                let beats_fit = self.beats.frames.beats() + more <= BEATS_PER_SLOT * most;
                let fits = slots + more <= most && beats_fit;
                let may_wait = self.state.read().is_none() || !self.lacks_names(operation);
                (fits || slots == 0) && self.intake().submit_queue.has_room() && may_wait
            }
            // A token that waits for its key is kept as a read is, and beats that wait for their names.
            Operation::Hello(_) | Operation::Token { .. } => self.state.read().is_none() || !self.lacks_key(operation),
            _ => slots == 0 && self.state.read().is_none(),
        }
    }

    pub(super) fn start(&mut self, frame: ClientFrame, now: Instant) {
        if self.lacks_names(&frame.operation) {
            return self.store_names(frame);
        }
        let seq = frame.seq;
        match frame.operation {
            Operation::Beats(beats) => self.take_beats(seq, &beats, now),
            Operation::Hello(_) | Operation::Token { .. } => match self.awaited_key(&frame.operation) {
                Some(published) => self.state.begin(Busy::Reading(Read::before(published, frame))),
                None => self.renewal(frame, now),
            },
            operation => self.request(seq, operation, now),
        }
    }

    /// Goes on with a frame that has waited for a key or for names.
    pub(super) fn start_prepared(&mut self, frame: ClientFrame, now: Instant) {
        match frame.operation {
            Operation::Hello(_) | Operation::Token { .. } => self.renewal(frame, now),
            _ if self.may_start(&frame.operation) => self.start(frame, now),
            _ => self.state.hold(HeldFrame::Frame { frame, deadline: now + OPERATION_TIMEOUT, permit: None }),
        }
    }

    /// A hello, or another token, that can be judged.
    fn renewal(&mut self, frame: ClientFrame, now: Instant) {
        match frame.operation {
            Operation::Hello(hello) => self.hello(frame.seq, hello, now),
            Operation::Token { token } => self.token(frame.seq, token.expose(), now),
            operation => self.request(frame.seq, operation, now),
        }
    }
}
