//! The users that this gateway wants to follow, and those it is subscribed to.

use std::collections::HashSet;

use tokio::sync::mpsc;

use super::Waiting;
use model::ids::UserId;
use model::shard::{Shard, Shards};

/// By shard. About 40 bytes for each connected user.
pub(super) struct UserSubscriptions {
    shards: Vec<OfShard>,
    subscribed: usize,
    lines: u64,
}

/// One connection to a node, from its establishment until it is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineId(u64);

#[derive(Default)]
struct OfShard {
    wanted: HashSet<UserId>,
    /// Confirmed on the line that has the shard now.
    subscribed: HashSet<UserId>,
    /// Users that came or left since the last [`take`](UserSubscriptions::take). Empty without a line, since a new line
    /// begins with all wanted users.
    changed: HashSet<UserId>,
    line: Option<(LineId, mpsc::Sender<Waiting>)>,
}

/// The next subscriptions and unsubscriptions of a line.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Work {
    pub subscribe: Vec<(Shard, UserId)>,
    pub unsubscribe: Vec<(Shard, UserId)>,
}

impl UserSubscriptions {
    pub fn new(shards: Shards) -> Self {
        UserSubscriptions { shards: shards.all().map(|_| OfShard::default()).collect(), subscribed: 0, lines: 0 }
    }

    /// True: a line has to look.
    pub fn want(&mut self, shard: Shard, user: UserId) -> bool {
        let of = self.of(shard);
        of.wanted.insert(user);
        of.change(user)
    }

    /// True: a line has to look.
    pub fn leave(&mut self, shard: Shard, user: UserId) -> bool {
        let of = self.of(shard);
        of.wanted.remove(&user);
        if of.wanted.is_empty() {
            of.wanted.shrink_to_fit();
        }
        of.change(user)
    }

    pub fn is_subscribed(&self, shard: Shard, user: UserId) -> bool {
        self.shards[usize::from(shard.0)].subscribed.contains(&user)
    }

    /// The number of subscribed users.
    pub fn subscribed(&self) -> usize {
        self.subscribed
    }

    /// The queue of messages about the shard's users.
    pub fn line(&self, shard: Shard) -> Option<mpsc::Sender<Waiting>> {
        self.shards[usize::from(shard.0)].line.as_ref().map(|(_, queue)| queue.clone())
    }

    /// A new line serves these shards, and has to subscribe all of their users.
    pub fn attach(&mut self, shards: &[Shard], queue: &mpsc::Sender<Waiting>) -> LineId {
        self.lines += 1;
        let id = LineId(self.lines);
        for shard in shards {
            self.forget(*shard);
            let of = self.of(*shard);
            of.changed = of.wanted.clone();
            of.line = Some((id, queue.clone()));
        }
        id
    }

    /// The line is lost, and its subscriptions with it.
    pub fn detach(&mut self, id: LineId) {
        for index in 0..self.shards.len() {
            if self.shards[index].is_on(id) {
                self.forget(Shard(index as u16));
            }
        }
    }

    /// Takes at most `max` subscriptions and unsubscriptions that the line has to send for these shards. A user to
    /// unsubscribe counts as unsubscribed at once.
    pub fn take(&mut self, id: LineId, shards: &[Shard], max: usize) -> Work {
        let mut work = Work::default();
        let mut left = max;
        for shard in shards {
            let of = &mut self.shards[usize::from(shard.0)];
            if of.changed.is_empty() || !of.is_on(id) {
                continue;
            }
            let users: Vec<UserId> = of.changed.iter().take(left).copied().collect();
            for user in &users {
                of.changed.remove(user);
                match (of.wanted.contains(user), of.subscribed.contains(user)) {
                    (true, false) => work.subscribe.push((*shard, *user)),
                    (false, true) => {
                        of.subscribed.remove(user);
                        self.subscribed -= 1;
                        work.unsubscribe.push((*shard, *user));
                    }
                    (true, true) | (false, false) => {}
                }
            }
            if of.changed.is_empty() {
                of.changed = HashSet::new();
            }
            left -= users.len();
            if left == 0 {
                break;
            }
        }
        work
    }

    /// Redis has confirmed them on this line.
    pub fn confirm(&mut self, id: LineId, users: &[(Shard, UserId)]) {
        for (shard, user) in users {
            let of = &mut self.shards[usize::from(shard.0)];
            if of.is_on(id) && of.subscribed.insert(*user) {
                self.subscribed += 1;
            }
        }
    }

    fn forget(&mut self, shard: Shard) {
        let of = &mut self.shards[usize::from(shard.0)];
        self.subscribed -= of.subscribed.len();
        *of = OfShard { wanted: std::mem::take(&mut of.wanted), ..OfShard::default() };
    }

    fn of(&mut self, shard: Shard) -> &mut OfShard {
        &mut self.shards[usize::from(shard.0)]
    }
}

impl OfShard {
    fn is_on(&self, id: LineId) -> bool {
        self.line.as_ref().is_some_and(|(own, _)| *own == id)
    }

    fn change(&mut self, user: UserId) -> bool {
        self.line.is_some() && self.changed.insert(user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARD: Shard = Shard(7);
    const USER: UserId = UserId(42);

    struct Scene {
        followed: UserSubscriptions,
        queue: mpsc::Sender<Waiting>,
    }

    impl Scene {
        fn new() -> Self {
            Scene { followed: UserSubscriptions::new(Shards::DEFAULT), queue: mpsc::channel(1).0 }
        }

        fn attach(&mut self) -> LineId {
            self.followed.attach(&[SHARD], &self.queue)
        }

        fn work(&mut self, id: LineId) -> (usize, usize) {
            let work = self.followed.take(id, &[SHARD], 512);
            (work.subscribe.len(), work.unsubscribe.len())
        }

        fn is_subscribed(&self) -> bool {
            self.followed.is_subscribed(SHARD, USER)
        }
    }

    #[test]
    fn a_user_is_subscribed_once_confirmed_and_until_the_unsubscription_is_sent() {
        let mut scene = Scene::new();
        let id = scene.attach();
        assert!(scene.followed.want(SHARD, USER));
        assert_eq!(scene.work(id), (1, 0));
        assert!(!scene.is_subscribed(), "the subscription is not confirmed yet");
        scene.followed.confirm(id, &[(SHARD, USER)]);
        assert!(scene.is_subscribed() && scene.followed.subscribed() == 1);
        assert!(scene.followed.leave(SHARD, USER) && scene.is_subscribed());
        assert_eq!(scene.work(id), (0, 1));
        assert!(!scene.is_subscribed() && scene.followed.subscribed() == 0);
        assert_eq!(scene.work(id), (0, 0));
    }

    #[test]
    fn following_and_unfollowing_between_two_passes_sends_nothing() {
        let mut scene = Scene::new();
        let id = scene.attach();
        scene.followed.want(SHARD, USER);
        scene.followed.leave(SHARD, USER);
        assert_eq!(scene.work(id), (0, 0));
        scene.followed.want(SHARD, USER);
        assert_eq!(scene.work(id), (1, 0));
        scene.followed.leave(SHARD, USER);
        scene.followed.confirm(id, &[(SHARD, USER)]);
        assert_eq!(scene.work(id), (0, 1), "it left while it was being subscribed");
    }

    #[test]
    fn a_new_line_subscribes_all_wanted_users() {
        let mut scene = Scene::new();
        assert!(!scene.followed.want(SHARD, USER), "no line is attached to be woken");
        let first = scene.attach();
        assert_eq!(scene.work(first), (1, 0));
        scene.followed.confirm(first, &[(SHARD, USER)]);
        scene.followed.detach(first);
        assert!(!scene.is_subscribed() && scene.followed.line(SHARD).is_none());
        let second = scene.attach();
        scene.followed.detach(first);
        scene.followed.confirm(first, &[(SHARD, USER)]);
        assert!(!scene.is_subscribed(), "what a former line says does not count");
        assert_eq!(scene.work(first), (0, 0));
        assert_eq!(scene.work(second), (1, 0));
    }

    #[test]
    fn subscriptions_are_sent_in_bounded_batches() {
        let mut scene = Scene::new();
        for mid in 0..10 {
            scene.followed.want(SHARD, UserId(mid));
        }
        let id = scene.attach();
        let mut pieces = || scene.followed.take(id, &[SHARD], 4).subscribe.len();
        assert_eq!([pieces(), pieces(), pieces(), pieces()], [4, 4, 2, 0]);
    }
}
