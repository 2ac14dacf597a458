//! Held slots of all threads, by user.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::devices::inbox::Inbox;
use model::ids::{ConnectionId, UserId};

/// The number of locks. One is taken when a hold begins, when its slot is answered, and by each read.
const SHARDS: usize = 64;

/// Finds the slots that a user's connections hold, so that a read commits them first. A slot is listed from the start
/// of its hold until it is answered: it may be in a group when the read comes.
#[derive(Debug)]
pub struct HoldIndex {
    shards: [Mutex<Shard>; SHARDS],
}

/// A holder of slots: a submit queue.
pub trait Holder: Debug + Send + Sync {
    /// Ends the hold of the connection, if there is one.
    fn release(&self, connection: ConnectionId);
}

type Shard = BTreeMap<(UserId, ConnectionId), Hold>;

#[derive(Debug)]
struct Hold {
    holder: Arc<dyn Holder>,
    /// The reads that wait for the slot; they go on when this is dropped with the answer.
    reads: Vec<oneshot::Sender<()>>,
}

impl HoldIndex {
    pub fn new() -> Arc<Self> {
        Arc::new(HoldIndex { shards: std::array::from_fn(|_| Mutex::default()) })
    }

    /// Commits the slots that the user's connections hold. Each returned receiver resolves with the answer to one slot.
    pub fn commit(&self, user: UserId) -> Vec<oneshot::Receiver<()>> {
        let (mut holders, mut answers) = (Vec::new(), Vec::new());
        let all = (user, ConnectionId(u64::MIN))..=(user, ConnectionId(u64::MAX));
        for ((_, connection), hold) in self.shard(user).range_mut(all) {
            let (sender, answer) = oneshot::channel();
            // Drops reads that have given up.
            hold.reads.retain(|read| !read.is_closed());
            hold.reads.push(sender);
            answers.push(answer);
            holders.push((hold.holder.clone(), *connection));
        }
        holders.iter().for_each(|(holder, connection)| holder.release(*connection));
        answers
    }

    pub(super) fn begins(&self, inbox: &Inbox, holder: Arc<dyn Holder>) {
        self.shard(inbox.user).insert((inbox.user, inbox.id), Hold { holder, reads: Vec::new() });
    }

    pub(super) fn ends(&self, inbox: &Inbox) {
        self.shard(inbox.user).remove(&(inbox.user, inbox.id));
    }

    fn shard(&self, user: UserId) -> MutexGuard<'_, Shard> {
        self.shards[user.0 as usize % SHARDS].lock()
    }
}
