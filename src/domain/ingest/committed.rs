//! Builds the part of a committed group that listeners get.

use super::completion::Completion;
use crate::commit_listener::{CommittedChange, CommittedGroup};
use model::change::Outcome;

/// Adds the next change of the group. `index`: its index.
pub fn add(group: &mut CommittedGroup, index: usize, completion: &Completion, elsewhere: bool) {
    let Completion { entry, outcome, news } = completion;
    let start = group.changes.last().map_or(0, |before| before.transitions.end);
    let own = group.transitions[start..].iter().take_while(|(change, _)| *change == index).count();
    let heard = outcome.is_news() || matches!(outcome, Outcome::Unreadable { .. });
    if own == 0 && !heard {
        return;
    }
    let inbox = entry.inbox();
    group.changes.push(CommittedChange {
        user: inbox.user,
        origin: inbox.origin,
        gateway: inbox.gateway,
        visitor: inbox.visitor,
        outcome: outcome.clone(),
        flag: news.as_ref().filter(|news| !news.claims.is_empty()).and_then(|news| news.flag),
        here: inbox.has_others(),
        elsewhere,
        transitions: start..start + own,
    });
}
