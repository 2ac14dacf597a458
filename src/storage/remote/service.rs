//! One history service, from when it takes changes until it does not any more.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tonic::transport::Channel;

use super::parcels::{Parcel, ParcelQueue};
use model::ids::UserId;
use model::shard::Shard;
use storage::gateway_messages::wire::FollowRequest;
use storage::gateway_messages::wire::gateways_client::GatewaysClient;

/// Users in one request.
const USERS_MAX: usize = 1_000;

/// Cheap to share.
pub struct Service {
    /// Its socket address.
    name: String,
    pub stub: GatewaysClient<Channel>,
    parcels: Arc<ParcelQueue>,
    visits: mpsc::UnboundedSender<Visit>,
    /// Shards that it cannot commit now.
    away: Mutex<HashSet<Shard>>,
}

/// A user's arrival or departure, by which a service knows whose messages to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    Come(UserId),
    Left(UserId),
}

impl Service {
    /// With the end at which visits come out, which are bounded by the connections that come and go.
    pub fn new(
        name: String,
        stub: GatewaysClient<Channel>,
        parcels: Arc<ParcelQueue>,
    ) -> (Arc<Service>, mpsc::UnboundedReceiver<Visit>) {
        let (visits, told) = mpsc::unbounded_channel();
        (Arc::new(Service { name, stub, parcels, visits, away: Mutex::default() }), told)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Stores which shards the service says are away. Returns how many are away now, and how many were before.
    pub(super) fn set_away(&self, shards: &[u32]) -> (usize, usize) {
        let shards: HashSet<Shard> = shards.iter().filter_map(|shard| u16::try_from(*shard).ok()).map(Shard).collect();
        let now = shards.len();
        (now, std::mem::replace(&mut *self.away.lock(), shards).len())
    }

    /// Whether it commits changes of this shard.
    pub fn serves(&self, shard: Shard) -> bool {
        !self.away.lock().contains(&shard)
    }

    /// How many of these shards it cannot commit.
    pub fn count_away(&self, is_one: impl Fn(Shard) -> bool) -> usize {
        self.away.lock().iter().filter(|shard| is_one(**shard)).count()
    }

    /// Dropped if the service is gone: its answer is then an error.
    pub fn send(&self, parcel: Parcel) {
        self.parcels.add(parcel);
    }

    pub fn send_visit(&self, visit: Visit) {
        let _ = self.visits.send(visit);
    }
}

/// The next request: what has gathered.
pub async fn next_request(gateway: u64, visits: &mut mpsc::UnboundedReceiver<Visit>) -> Option<FollowRequest> {
    let mut gathered = Vec::new();
    visits.recv_many(&mut gathered, USERS_MAX).await;
    if gathered.is_empty() {
        return None;
    }
    // The last visit of a user counts.
    let mut last = HashMap::with_capacity(gathered.len());
    for visit in gathered {
        match visit {
            Visit::Come(user) => last.insert(user, true),
            Visit::Left(user) => last.insert(user, false),
        };
    }
    let mut request = FollowRequest { gateway, come: Vec::new(), left: Vec::new() };
    for (user, has_come) in last {
        if has_come { request.come.push(user.0) } else { request.left.push(user.0) }
    }
    Some(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_a_user_who_comes_and_leaves_the_last_visit_holds() {
        let (sender, mut visits) = mpsc::unbounded_channel();
        let (one, two) = (UserId(1), UserId(2));
        for visit in [Visit::Come(one), Visit::Come(two), Visit::Left(one), Visit::Left(two), Visit::Come(one)] {
            sender.send(visit).expect("open");
        }
        let request = next_request(7, &mut visits).await;
        assert_eq!(request, Some(FollowRequest { gateway: 7, come: vec![1], left: vec![2] }));
        drop(sender);
        assert_eq!(next_request(7, &mut visits).await, None);
    }
}
