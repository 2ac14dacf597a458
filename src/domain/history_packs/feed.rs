//! Tells followers which history packs were delivered.

use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use model::shard::Region;

/// Packs that are kept for a slow follower. Of more it misses the oldest.
const KEPT: usize = 256;

/// A delivered pack, as followers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveredPack {
    pub region: Region,
    /// Users with something in the pack. A user with many rows may be in several packs.
    pub users: usize,
    /// Before compression.
    pub bytes: usize,
}

/// The packer publishes to it, and never waits for a follower. Without followers no pack is kept.
pub struct PackFeed {
    packs: broadcast::Sender<DeliveredPack>,
}

/// Sees the packs that are delivered from now on.
pub struct PackFollower {
    packs: broadcast::Receiver<DeliveredPack>,
}

impl PackFeed {
    pub fn new() -> Arc<Self> {
        Arc::new(PackFeed { packs: broadcast::Sender::new(KEPT) })
    }

    pub fn follow(&self) -> PackFollower {
        PackFollower { packs: self.packs.subscribe() }
    }

    /// Tells all followers, and waits for none.
    pub fn delivered(&self, pack: DeliveredPack) {
        // An error means that there is no follower.
        let _ = self.packs.send(pack);
    }

    #[cfg(any(test, feature = "fixtures"))]
    pub fn followers(&self) -> usize {
        self.packs.receiver_count()
    }
}

impl PackFollower {
    /// The next pack; `None` after the end of the feed. May be dropped while it waits: no pack is lost by that.
    pub async fn next(&mut self) -> Option<DeliveredPack> {
        loop {
            match self.packs.recv().await {
                Ok(pack) => return Some(pack),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(users: usize) -> DeliveredPack {
        DeliveredPack { region: Region(19), users, bytes: users * 100 }
    }

    #[tokio::test]
    async fn each_follower_sees_what_is_delivered_from_then_on() {
        let feed = PackFeed::new();
        feed.delivered(pack(1));
        let mut first = feed.follow();
        feed.delivered(pack(2));
        let mut second = feed.follow();
        feed.delivered(pack(3));
        drop(feed);
        assert_eq!([first.next().await, first.next().await], [Some(pack(2)), Some(pack(3))]);
        assert_eq!([second.next().await, second.next().await], [Some(pack(3)), None]);
    }

    #[tokio::test]
    async fn a_follower_that_is_too_slow_misses_the_oldest() {
        let feed = PackFeed::new();
        let mut slow = feed.follow();
        (1..=10 * KEPT).for_each(|users| feed.delivered(pack(users)));
        assert_eq!(slow.next().await, Some(pack(9 * KEPT + 1)));
        drop(feed);
        let mut rest = 0;
        while slow.next().await.is_some() {
            rest += 1;
        }
        assert_eq!(rest, KEPT - 1);
    }

    #[test]
    fn without_followers_nothing_is_kept() {
        let feed = PackFeed::new();
        feed.delivered(pack(1));
        drop(feed.follow());
        feed.delivered(pack(2));
        assert_eq!((feed.packs.len(), feed.followers()), (0, 0));
    }
}
