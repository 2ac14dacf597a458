//! Removes what no read returns any more, a little at a time: cleared and outlived records, and what is left of users who
//! have gone.
//!
//! The store names users ([`HotStore::due`]); each is pruned by changes of their own, which go the way of all others. So
//! they are in order with the user's beats, are repeated until their outcome is known, and listeners hear of what they
//! remove. Several gateways may prune one user at one time: who comes second finds nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::lanes::Lanes;
use crate::domain::clock::Clock;
use crate::domain::devices::inbox::Inbox;
use crate::domain::devices::ready_list::Notifier;
use crate::model::change::{Action, Outcome};
use crate::model::ids::UserId;
use crate::storage::hot_store::{Due, HotStore};

/// Users who are pruned at one time. A change removes 256 rows at most, and a group with all of theirs holds up others.
const TOGETHER_MAX: usize = 4;
/// Before the next of them: at most 200 users a second, or about 10,000 rows.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_AFTER_MANY: Duration = Duration::from_millis(100);
/// When nobody is due, or the store is away.
const IDLE: Duration = Duration::from_secs(1);
/// A lane that is away holds up its users only; they are named again.
const ANSWER_MAX: Duration = Duration::from_secs(5);

pub struct Janitor {
    store: Arc<dyn HotStore>,
    /// Its own.
    lanes: Lanes,
    clock: Arc<Clock>,
    looks: Counter,
}

/// What a user's change came to.
enum Pruned {
    All,
    /// There is more to remove.
    Part,
    /// It is not known, or cannot be done.
    Unknown,
}

impl Janitor {
    pub fn new(store: Arc<dyn HotStore>, lanes: Lanes, clock: Arc<Clock>, registry: &mut Registry) -> Self {
        let looks = Counter::default();
        let meaning = "Times that a user was looked at for cleared and outlived records";
        registry.register("janitor_looks", meaning, looks.clone());
        Janitor { store, lanes, clock, looks }
    }

    /// Runs until it is dropped.
    pub async fn run(self) {
        loop {
            // The clock may be wrong, or the store away; others tell of it.
            let due = match self.clock.doubt() {
                None => self.store.due(self.clock.now()).await.unwrap_or_default(),
                Some(_) => Due::default(),
            };
            if due.users.is_empty() {
                sleep(IDLE).await;
            }
            for users in due.users.chunks(TOGETHER_MAX) {
                self.prune(users.to_vec(), due.horizon).await;
            }
        }
    }

    async fn prune(&self, mut users: Vec<UserId>, horizon: u64) {
        let mut pause = PAUSE;
        while !users.is_empty() {
            sleep(pause).await;
            let waiting: Vec<_> = users.drain(..).map(|user| (user, self.submit(user, horizon))).collect();
            for (user, answer) in waiting {
                self.looks.inc();
                match timeout(ANSWER_MAX, answer).await.unwrap_or(Pruned::Unknown) {
                    Pruned::Part => users.push(user),
                    Pruned::All | Pruned::Unknown => {}
                }
            }
            pause = PAUSE_AFTER_MANY;
        }
    }

    /// The change is on its way; what is returned waits for its outcome.
    fn submit(&self, user: UserId, horizon: u64) -> impl Future<Output = Pruned> + use<> {
        let answered = Arc::new(Notify::new());
        let inbox = Inbox::of_request(user, None, Arc::default(), Notifier::Own(answered.clone()));
        self.lanes.intake(self.lanes.of(user)).order(&inbox, Action::Prune { horizon });
        async move {
            loop {
                answered.notified().await;
                match inbox.take(Instant::now()).order.as_deref() {
                    Some(Outcome::Pruned { more: true }) => return Pruned::Part,
                    Some(Outcome::Pruned { more: false }) => return Pruned::All,
                    Some(_) => return Pruned::Unknown,
                    None => {}
                }
            }
        }
    }
}
