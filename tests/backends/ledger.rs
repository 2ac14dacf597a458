//! The records that a store must have by the transitions that it has told.

use std::collections::HashMap;

use heartline::model::decide::Transitions;
use heartline::model::ids::{Content, UserId};
use heartline::model::record::Record;

#[derive(Default)]
pub struct Ledger(HashMap<(UserId, Content), Record>);

impl Ledger {
    /// `forgotten`: up to which moment everything of a user was cleared or erased by now. What is not newer may have
    /// been removed without a transition.
    pub fn hear(&mut self, transitions: &Transitions, forgotten: impl Fn(UserId) -> u64) -> Result<(), String> {
        for (_, told) in transitions {
            let place = (told.user, told.content);
            let known = match &told.after {
                Some(after) => self.0.insert(place, after.clone()),
                None => self.0.remove(&place),
            };
            let may_be_gone = known.as_ref().is_some_and(|known| known.at <= forgotten(told.user));
            if told.before != known && !(told.before.is_none() && may_be_gone) {
                return Err(format!("{told:?} follows {known:?}"));
            }
        }
        Ok(())
    }

    /// The record, if it is newer than what was forgotten of the user.
    pub fn get(&self, user: UserId, content: Content, forgotten: u64) -> Option<Record> {
        self.0.get(&(user, content)).filter(|record| record.at > forgotten).cloned()
    }
}
