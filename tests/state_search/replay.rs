//! Transitions, held to the states of a user between which they were told.

use std::collections::HashMap;

use heartline::model::ids::{Content, UserId};
use heartline::model::record::Record;
use heartline::model::transition::Transition;

use crate::state_search::state::State;

/// Each begins where the one before it has ended, and together they lead from the records of one state to those of the
/// next.
pub fn leads<'t>(
    user: UserId,
    before: &State,
    told: impl Iterator<Item = &'t Transition>,
    after: &State,
) -> Result<(), String> {
    let mut records = records_of(before, user);
    for transition in told {
        let Transition { content, before, after, .. } = transition;
        let known = match after {
            Some(after) => records.insert(*content, after.clone()),
            None => records.remove(content),
        };
        if *before != known {
            return Err(format!("{transition:?} follows {known:?}"));
        }
        if transition.user != user || before == after {
            return Err(format!("no transition of this user: {transition:?}"));
        }
    }
    let expected = records_of(after, user);
    match records == expected {
        true => Ok(()),
        false => Err(format!("transitions lead to {records:?}, not to {expected:?}")),
    }
}

fn records_of(state: &State, user: UserId) -> HashMap<Content, Record> {
    let rows = state.contents(user).into_iter();
    rows.filter_map(|(content, row)| Some((content, row.record?))).collect()
}
