//! Beats of a conversation: taken in, acked, and what was decided of them.

use std::num::NonZeroU64;
use std::time::Instant;

use super::Conversation;
use crate::domain::ingest::source::Source;
use crate::domain::rewards::reward_notice::RewardNotice;
use crate::edge::protocol::frame::{Beats, ServerFrame};
use crate::model::rewards::claim::ClaimKey;

impl Conversation {
    pub(super) fn take_beats(&mut self, seq: u32, beats: &Beats, now: Instant) {
        self.strikes = 0;
        if self.hold(seq, beats, now) {
            self.be_patient();
            return;
        }
        self.commit_held(now);
        let (inbox, flag) = (self.registration.inbox(), beats.flag);
        let source = Source { inbox, device: &self.device, seq, read: now, flag, decisions: &self.decisions };
        let taken = self.intake().beats(&source, &beats.items);
        self.beats.frames.submitted(seq, taken.slots, beats.items.len() - taken.rejected.len());
        match self.may_hold() {
            Some(_) => self.steady.get_or_insert_default().submitted(&beats.items, taken.slots),
            None => self.steady = None,
        }
        self.beats.rejected.extend(taken.rejected);
        self.beats.clock = self.beats.clock.max(taken.clock.and_then(NonZeroU64::new));
        if let Some(delay) = self.ack_delay.filter(|delay| taken.slots > 0 && !delay.is_zero()) {
            self.beats.due.get_or_insert(now + delay);
        }
        if self.beats.frames.slots() == 0 || !self.beats.rejected.is_empty() {
            self.say_acks(now);
        }
        self.be_patient();
    }

    /// Tells the inbox when its answers may wait for this conversation's own clock.
    pub(super) fn be_patient(&mut self) {
        let patient = self.beats.due.is_some() && self.listens();
        if patient != self.beats.patient {
            self.beats.patient = patient;
            self.inbox().be_patient(patient);
        }
    }

    pub(super) fn say_acks(&mut self, now: Instant) {
        let flag = || self.decisions.flag(self.context.connect_lookup.day_at(now));
        self.replies.add(self.beats.ack(flag).map(ServerFrame::Ack));
    }

    /// Remembers which rules are decided. Returns the new claims.
    pub(super) fn learn(&mut self, news: RewardNotice) -> Vec<ClaimKey> {
        news.flag.into_iter().for_each(|day| self.decisions.decided_user(day));
        news.contents.into_iter().for_each(|(day, content)| self.decisions.decided_content(day, content));
        news.claims
    }
}
