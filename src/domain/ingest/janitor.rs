//! Removes rows that no read returns any more, a little at a time: cleared and expired records, and the last rows of
//! users without records.
//!
//! The store returns users ([`Positions::due`]), and each is pruned by ordinary changes. So these are in order with the
//! user's beats, are repeated until their outcome is known, and listeners get what they remove. Several gateways may
//! prune one user at the same time: the second one finds nothing to remove.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::lanes::Lanes;
use crate::devices::inbox::Inbox;
use crate::devices::ready_list::Notifier;
use crate::time::clock::Clock;
use model::change::{Action, Outcome};
use model::ids::UserId;
use model::visitor::Visitor;
use storage::hot_store::{Due, Positions};

/// Users that are pruned at one time. Each change removes up to 256 rows, and a group with many of them delays others.
const TOGETHER_MAX: usize = 4;
/// The pause before the next users: at most 200 users a second, or about 10,000 rows.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_AFTER_MANY: Duration = Duration::from_millis(100);
/// The pause when no user is due, or the store is away.
const IDLE: Duration = Duration::from_secs(1);
/// The wait for an outcome. After it the store returns the user again. A lane that is away delays only its own users.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Users whose stored state cannot be read: each attempt is logged, and nothing changes before an operator repairs it.
const UNREADABLE_PAUSE: Duration = Duration::from_secs(60 * 60);
/// The most unreadable users that are remembered; with one more all are tried again.
const UNREADABLE_MAX: usize = 1_024;

pub struct Janitor {
    store: Arc<dyn Positions>,
    /// Its own.
    lanes: Lanes,
    clock: Arc<Clock>,
    unreadable: Unreadable,
    looks: Counter,
}

/// Since when.
#[derive(Default)]
struct Unreadable(HashMap<UserId, Instant>);

/// The result of pruning a user.
enum Pruned {
    All,
    /// There is more to remove.
    Part,
    /// The user's state cannot be read.
    Unreadable,
    Unknown,
}

impl Janitor {
    pub fn new(store: Arc<dyn Positions>, lanes: Lanes, clock: Arc<Clock>, registry: &mut Registry) -> Self {
        let looks = Counter::default();
        let meaning = "Times that a user was looked at for cleared and expired records";
        registry.register("janitor_looks", meaning, looks.clone());
        Janitor { store, lanes, clock, unreadable: Unreadable::default(), looks }
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) {
        loop {
            // The clock may be wrong, or the store away; others tell of it.
            let mut due = match self.clock.doubt() {
                None => self.store.due(self.clock.now()).await.unwrap_or_default(),
                Some(_) => Due::default(),
            };
            due.users.retain(|user| !self.unreadable.has(*user, Instant::now()));
            if due.users.is_empty() {
                sleep(IDLE).await;
            }
            for users in due.users.chunks(TOGETHER_MAX) {
                if !self.prune(users.to_vec(), due.horizon).await {
                    // A part of the store is away. Its users are not named while it is.
                    sleep(IDLE).await;
                    break;
                }
            }
        }
    }

    /// False: of some the outcome is not known.
    async fn prune(&mut self, mut users: Vec<UserId>, horizon: u64) -> bool {
        let mut all_known = true;
        let mut pause = PAUSE;
        while !users.is_empty() {
            sleep(pause).await;
            let answers = users.iter().map(|user| timeout(ANSWER_MAX, self.submit(*user, horizon)));
            let answers = join_all(answers).await;
            for (user, answer) in std::mem::take(&mut users).into_iter().zip(answers) {
                self.looks.inc();
                match answer.unwrap_or(Pruned::Unknown) {
                    Pruned::Part => users.push(user),
                    Pruned::Unreadable => self.unreadable.add(user, Instant::now()),
                    Pruned::Unknown => all_known = false,
                    Pruned::All => {}
                }
            }
            pause = PAUSE_AFTER_MANY;
        }
        all_known
    }

    /// The change is on its way; what is returned waits for its outcome.
    fn submit(&self, user: UserId, horizon: u64) -> impl Future<Output = Pruned> + use<> {
        let answered = Arc::new(Notify::new());
        let inbox = Inbox::of_request(user, None, Visitor::default(), Arc::default(), Notifier::Own(answered.clone()));
        self.lanes.intake(self.lanes.of(user)).order(&inbox, Action::Prune { horizon });
        async move {
            loop {
                answered.notified().await;
                match inbox.take(Instant::now()).order.as_deref() {
                    Some(Outcome::Pruned { more: true }) => return Pruned::Part,
                    Some(Outcome::Pruned { more: false }) => return Pruned::All,
                    Some(Outcome::Unreadable { .. }) => return Pruned::Unreadable,
                    Some(_) => return Pruned::Unknown,
                    None => {}
                }
            }
        }
    }
}

impl Unreadable {
    fn add(&mut self, user: UserId, now: Instant) {
        if self.0.len() == UNREADABLE_MAX {
            self.0.clear();
        }
        self.0.insert(user, now);
    }

    fn has(&mut self, user: UserId, now: Instant) -> bool {
        let Some(since) = self.0.get(&user) else { return false };
        let has = now.saturating_duration_since(*since) < UNREADABLE_PAUSE;
        if !has {
            self.0.remove(&user);
        }
        has
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_user_is_tried_again_after_an_hour() {
        let (mut unreadable, now) = (Unreadable::default(), Instant::now());
        unreadable.add(UserId(1), now);
        assert!(unreadable.has(UserId(1), now + UNREADABLE_PAUSE / 2) && !unreadable.has(UserId(2), now));
        assert!(!unreadable.has(UserId(1), now + UNREADABLE_PAUSE));
        (0..=UNREADABLE_MAX as u64).for_each(|mid| unreadable.add(UserId(mid), now));
        assert_eq!(unreadable.0.len(), 1, "all others are tried again");
    }
}
