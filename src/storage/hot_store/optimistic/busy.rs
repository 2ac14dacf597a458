//! The users that are being written: one group at a time for each, in the order in which the groups came.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;

use crate::hot_store::StoreError;
use model::ids::UserId;

/// The progress of a group.
#[derive(Clone, Debug)]
pub enum Stage {
    UnderWay,
    /// The outcome is unknown; the group will be committed again.
    Unknown,
    /// The group was dropped before its turn came. Groups after it wait for these groups instead.
    Left(Before),
    Over,
}

/// A group in the queues of its users.
pub type Turn = Arc<watch::Sender<Stage>>;

/// Groups that have to be over first, each with the users they share with the waiting group.
pub type Before = Vec<(Turn, Vec<UserId>)>;

/// The last group of each user. Bounded by the groups under way.
#[derive(Default)]
pub struct Busy(HashMap<UserId, Turn>);

impl Busy {
    /// Queues a new group after all groups that share one of these users. Returns its turn, and the groups before it.
    pub fn enter(&mut self, users: impl Iterator<Item = UserId>) -> (Turn, Before) {
        let turn = Arc::new(watch::Sender::new(Stage::UnderWay));
        let mut before = Before::new();
        for user in users {
            let Some(other) = self.0.insert(user, turn.clone()) else { continue };
            if Arc::ptr_eq(&other, &turn) {
                continue;
            }
            match before.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &other)) {
                Some((_, users)) => users.push(user),
                None => before.push((other, vec![user])),
            }
        }
        (turn, before)
    }

    /// Ends the turn. Groups after `turn` go on, or wait for those groups of `before` that are not over yet. A later
    /// group must not write while the outcome of an earlier one is open, or the earlier group would take that write for
    /// its own.
    pub fn leave(&mut self, turn: &Turn, users: impl Iterator<Item = UserId>, before: Before) {
        let open = still_open(before);
        for (other, users) in &open {
            for user in users {
                self.0.entry(*user).and_modify(|last| {
                    if Arc::ptr_eq(last, turn) {
                        *last = other.clone();
                    }
                });
            }
        }
        for user in users {
            if self.0.get(&user).is_some_and(|last| Arc::ptr_eq(last, turn)) {
                self.0.remove(&user);
            }
        }
        turn.send_replace(if open.is_empty() { Stage::Over } else { Stage::Left(open) });
    }
}

/// The groups that are not over. A dropped group is replaced by the groups before it.
fn still_open(before: Before) -> Before {
    let mut open = Before::new();
    for (turn, users) in before {
        let stage = turn.borrow().clone();
        match stage {
            Stage::Over => {}
            Stage::Left(others) => {
                let of_these = |(other, mut theirs): (Turn, Vec<UserId>)| {
                    theirs.retain(|user| users.contains(user));
                    (other, theirs)
                };
                open.extend(still_open(others.into_iter().map(of_these).collect()));
            }
            Stage::UnderWay | Stage::Unknown => open.push((turn, users)),
        }
    }
    open
}

/// Waits until all these groups are over.
///
/// # Errors
/// The outcome of one group is unknown: its writes must be known before anything is decided on them.
pub async fn wait_for(before: &Before) -> Result<(), StoreError> {
    let mut turns: Vec<Turn> = before.iter().map(|(turn, _)| turn.clone()).collect();
    while let Some(turn) = turns.pop() {
        let mut stage = turn.subscribe();
        let seen = stage.wait_for(|stage| !matches!(stage, Stage::UnderWay)).await.map(|stage| stage.clone());
        match seen {
            Ok(Stage::Unknown) => {
                return Err(StoreError::Away("an earlier change of the same user has no outcome yet".to_owned()));
            }
            Ok(Stage::Left(before)) => turns.extend(before.into_iter().map(|(turn, _)| turn)),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const USERS: [UserId; 2] = [UserId(1), UserId(2)];

    #[test]
    fn groups_behind_a_dropped_group_wait_for_the_groups_before_it() {
        let mut busy = Busy::default();
        let (first, none) = busy.enter(USERS[..1].iter().copied());
        assert!(none.is_empty());
        let (second, before) = busy.enter(USERS.into_iter());
        let (_third, behind) = busy.enter(USERS.into_iter());
        busy.leave(&second, USERS.into_iter(), before);
        assert!(wait_for(&behind).now_or_never().is_none());
        first.send_replace(Stage::Unknown);
        assert!(matches!(wait_for(&behind).now_or_never(), Some(Err(_))));
        busy.leave(&first, USERS[..1].iter().copied(), Before::new());
        assert!(matches!(wait_for(&behind).now_or_never(), Some(Ok(()))));
    }

    #[test]
    fn a_dropped_group_leaves_its_place_to_the_groups_before_it() {
        let mut busy = Busy::default();
        let (first, none) = busy.enter(USERS[..1].iter().copied());
        let (second, before) = busy.enter(USERS.into_iter());
        busy.leave(&second, USERS.into_iter(), before);
        assert!(busy.0.len() == 1 && Arc::ptr_eq(&busy.0[&USERS[0]], &first));
        busy.leave(&first, USERS[..1].iter().copied(), none);
        assert!(busy.0.is_empty());
    }
}
