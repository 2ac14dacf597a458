//! Frames of a conversation that wait: for the turn of a long frame, for room, or for earlier frames.

use std::time::Instant;

use super::Conversation;
use super::OPERATION_TIMEOUT;
use super::state::{Held, HeldFrame};
use crate::protocol::frame::{ClientFrame, Operation};
use crate::protocol::json;
use domain::ingest::submit_queue::LargeFramePermit;

impl Conversation {
    /// Takes in the long message that has waited for it.
    pub fn grant_large_frame(&mut self, permit: LargeFramePermit, now: Instant) {
        if let Some(HeldFrame::Text { text, .. }) = self.state.take_held(Held::waits_for_permit) {
            self.take_in_long(&text, permit, now);
        }
    }

    pub(super) fn take_in_long(&mut self, text: &str, permit: LargeFramePermit, now: Instant) {
        self.take_in(text, now + OPERATION_TIMEOUT, now);
        self.keep_permit(permit);
    }

    /// A long frame keeps its turn until it is answered, and nothing more is read before that: so a turn ends with the
    /// next commit. A frame behind a list may wait for long, so it does not keep the turn.
    fn keep_permit(&mut self, granted: LargeFramePermit) {
        let uncommitted = self.beats.frames.slots() > 0;
        match self.state.held_mut() {
            Some(Held { frame: HeldFrame::Frame { permit, .. }, list }) => {
                *permit = (uncommitted || list.is_none()).then_some(granted);
            }
            _ if uncommitted => self.state.hold(HeldFrame::Committing { _permit: granted }),
            _ => {}
        }
    }

    /// The client does not read, and other clients must not wait for it: it gives up the turn of a long frame, and its
    /// held beats are committed.
    pub fn give_way(&mut self) {
        self.release_beats();
        if let Some(Held { frame: HeldFrame::Frame { permit, .. }, .. }) = self.state.held_mut() {
            *permit = None;
        }
        self.state.take_held(|held| matches!(held.frame, HeldFrame::Committing { .. }));
    }

    /// Starts the frame that is held, if it can be started now.
    pub(super) fn go_on(&mut self, now: Instant) {
        let uncommitted = self.beats.frames.slots() > 0;
        let Some(held) = self.state.held() else { return };
        let goes = match &held.frame {
            HeldFrame::Text { until, .. } => until.is_some_and(|until| now >= until),
            HeldFrame::Frame { frame, .. } => self.may_start(&frame.operation),
            HeldFrame::Committing { .. } => !uncommitted,
        };
        match self.state.take_held(|_| goes) {
            Some(HeldFrame::Text { text, .. }) => self.start_late(text, now),
            Some(HeldFrame::Frame { frame, permit, .. }) => {
                self.start(frame, now);
                permit.into_iter().for_each(|permit| self.keep_permit(permit));
            }
            Some(HeldFrame::Committing { .. }) => {}
            None => {
                if let Some(Held { frame: HeldFrame::Frame { permit, .. }, list: Some(_) }) = self.state.held_mut()
                    && !uncommitted
                {
                    *permit = None;
                }
            }
        }
    }

    /// Beats wait for their turn for as long as it takes, and any other frame no longer than for something else.
    fn start_late(&mut self, text: String, now: Instant) {
        match json::decode(&text, &self.context.frame_limits()) {
            Ok(ClientFrame { operation: Operation::Beats(_), .. }) => {
                self.state.hold(HeldFrame::Text { text, until: None });
            }
            _ => self.take_in(&text, now, now),
        }
    }

    /// An operation that has waited long enough is answered `unavailable`.
    pub(super) fn check_deadlines(&mut self, now: Instant) {
        let late = |held: &Held| !held.waits_for_permit() && held.deadline().is_some_and(|until| now >= until);
        if let Some(HeldFrame::Frame { frame, permit, .. }) = self.state.take_held(late) {
            self.replies.unavailable(frame.seq);
            permit.into_iter().for_each(|permit| self.keep_permit(permit));
        }
        if let Some(order) = self.state.take_order(|order| now >= order.deadline) {
            self.replies.unavailable(order.seq);
            self.outcome_is_late = true;
        }
    }
}
