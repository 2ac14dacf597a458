//! The end of an entry: its outcome, and the way of its answer to the inbox.

use super::coalesce::Entry;
use crate::devices::inbox::{Rejected, WrittenBeat};
use model::change::Outcome;
use model::rewards::reward_notice::RewardNotice;
use model::rule::{Reason, Verdict};

/// An entry and its outcome.
#[derive(Debug)]
pub struct Completion {
    pub entry: Entry,
    pub outcome: Outcome,
    /// Rewards and flag for its sender.
    pub news: Option<Box<RewardNotice>>,
}

impl Completion {
    pub(super) fn deliver(self) {
        let Completion { entry, outcome, news } = self;
        let rewarded = news.as_ref().is_some_and(|news| !news.claims.is_empty());
        if let Some(news) = news {
            entry.inbox().leave_news(*news);
        }
        match (entry, outcome) {
            (Entry::Slot(slot), Outcome::Beat { verdict, skipped }) => {
                let steady = skipped == 0 && verdict.is_steady(&slot.beat) && !rewarded;
                let skip =
                    |back| Rejected { beat_ref: slot.beat_ref(back), reason: Reason::NotRecording, record: None };
                let beat_ref = slot.beat_ref(skipped);
                let (decided, written) = match verdict {
                    Verdict::Rejected { reason, record } => (Some(Rejected { beat_ref, reason, record }), None),
                    Verdict::Written { steady, kept_dur } => (None, Some(WrittenBeat { beat_ref, steady, kept_dur })),
                    Verdict::Same => (None, None),
                };
                slot.inbox.answer_slot(decided.into_iter().chain((0..skipped).rev().map(skip)), steady, written);
            }
            (Entry::Slot(slot), Outcome::Unreadable { .. }) => slot.inbox.cannot_answer(),
            (Entry::Slot(slot), _) => slot.inbox.answer_slot(None, false, None),
            (Entry::Order { inbox, .. }, outcome) => inbox.answer_order(outcome),
        }
    }
}
