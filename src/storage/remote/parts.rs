//! The answers to groups of which only a part is known to be committed.
//!
//! Only one of several attempts reports that a change was written. So answers are kept, and only the unanswered changes
//! are sent again.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::{Committed, Group, StoreError};
use model::change::{Action, Change, Outcome};
use model::ids::UserId;
use model::record::Record;
use model::rewards::credit::Credit;
use model::rule::Verdict;
use model::transition::{Cause, Transition};
use model::version::Version;
use storage::gateway_messages::{answers, wire};

/// By the number of the group. Bounded by the groups under way: a committer sends a group until it is known.
#[derive(Default)]
pub struct Parts(Mutex<HashMap<u64, Answers>>);

/// One for each change of a group.
pub struct Answers(Vec<answers::Answer>);

impl Parts {
    /// Takes the known answers to the group.
    pub fn of(&self, group: &Group) -> Answers {
        let kept = self.0.lock().remove(&group.number);
        kept.unwrap_or_else(|| Answers(group.changes.iter().map(|_| None).collect()))
    }

    pub fn keep(&self, group: &Group, answers: Answers) {
        self.0.lock().insert(group.number, answers);
    }
}

impl Answers {
    /// The changes that are not known to be committed.
    pub fn missing(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().filter(|(_, answer)| answer.is_none()).map(|(index, _)| index)
    }

    /// Takes the answers to the changes at `indexes`.
    pub fn take(&mut self, changes: &[Change], indexes: Vec<usize>, sent: Vec<wire::Answer>) -> Result<(), StoreError> {
        for (index, sent) in indexes.into_iter().zip(sent) {
            let answer = answers::decode(&changes[index], sent).map_err(|error| StoreError::Away(error.to_string()))?;
            self.0[index] = answer;
        }
        Ok(())
    }

    /// When nothing is missing.
    pub fn committed(self, changes: &[Change]) -> Committed {
        let (mut outcomes, mut news, mut transitions) = (Vec::with_capacity(self.0.len()), Vec::new(), Vec::new());
        for (index, (outcome, told)) in self.0.into_iter().flatten().enumerate() {
            news.extend(told.map(|told| (index, told)));
            transitions.extend(written(&changes[index], &outcome).map(|written| (index, written)));
            outcomes.push(outcome);
        }
        Committed { outcomes, news, transitions, ..Committed::default() }
    }
}

/// The record that a beat became. The service keeps the one before it, and the exact version: only pushes to this
/// gateway's own connections are made of it.
fn written(change: &Change, outcome: &Outcome) -> Option<Transition> {
    let (
        Action::Beat { beat, earlier, device, .. },
        Outcome::Beat { verdict: Verdict::Written { kept_dur, .. }, skipped },
    ) = (&change.action, outcome)
    else {
        return None;
    };
    let (beat, before) = match skipped {
        0 => (beat, earlier.len()),
        skipped => {
            let index = earlier.len().checked_sub(*skipped)?;
            (earlier.get(index)?, index)
        }
    };
    let beat = beat.after(&earlier[..before]);
    let dur = if beat.dur == 0 { *kept_dur } else { beat.dur };
    let after = Record { dur, ..Record::of(&beat, device.clone(), Version::NONE, Credit::default()) };
    let (user, content): (UserId, _) = (change.user, beat.content);
    Some(Transition { user, content, before: None, after: Some(after), cause: Cause::Beat })
}
