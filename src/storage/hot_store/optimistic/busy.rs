//! Which users are being written: of each one group at a time, in the order in which the groups came.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;

use crate::model::ids::UserId;
use crate::storage::hot_store::StoreError;

/// How far a group is.
#[derive(Clone, Debug)]
pub enum Stage {
    UnderWay,
    /// Its outcome is not known; it will be committed again.
    Unknown,
    /// It was given up before its turn came. Groups behind it wait for these instead.
    Left(Before),
    Over,
}

/// A group that has users.
pub type Turn = Arc<watch::Sender<Stage>>;

/// Groups that have to be over first, each with the users because of whom.
pub type Before = Vec<(Turn, Vec<UserId>)>;

/// Bounded by the groups that are under way.
#[derive(Default)]
pub struct Busy(HashMap<UserId, Turn>);

impl Busy {
    /// Puts a new group behind all groups that have one of these users. Returns it, and those before it.
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

    /// Lets those waiting behind `turn` go on, or wait for those `before` it that are not over yet: a group that comes
    /// later must not write while the outcome of an earlier one is open, or the earlier one would take its write for
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

/// Those of them that are not over, or whom they were behind.
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

/// Waits until all of these are over.
///
/// # Errors
/// One of them is unknown: what it wrote has to be found out before anything is decided on it.
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
    fn those_behind_a_group_that_is_given_up_wait_for_those_before_it() {
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
    fn a_group_that_is_given_up_leaves_its_place_to_those_before_it() {
        let mut busy = Busy::default();
        let (first, none) = busy.enter(USERS[..1].iter().copied());
        let (second, before) = busy.enter(USERS.into_iter());
        busy.leave(&second, USERS.into_iter(), before);
        assert!(busy.0.len() == 1 && Arc::ptr_eq(&busy.0[&USERS[0]], &first));
        busy.leave(&first, USERS[..1].iter().copied(), none);
        assert!(busy.0.is_empty());
    }
}
