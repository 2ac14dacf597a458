//! The lanes of the users, each with its service and the users to follow there.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

use super::placement::place;
use super::service::{Service, Visit};
use model::ids::UserId;
use model::shard::{Shard, Shards};

/// A service that is away delays the users of its lanes only.
pub const LANES: usize = 16;

/// About 20 bytes for each connected user.
pub struct ServiceLanes {
    lanes: Vec<Mutex<Lane>>,
    /// Services that may be used, each once. Locked before any lane is.
    usable: Mutex<Vec<Arc<Service>>>,
}

#[derive(Default)]
struct Lane {
    service: Option<Arc<Service>>,
    followed: HashSet<UserId>,
}

pub fn lane_of(shard: Shard) -> usize {
    usize::from(shard.0) % LANES
}

impl ServiceLanes {
    pub fn new() -> Self {
        ServiceLanes { lanes: (0..LANES).map(|_| Mutex::default()).collect(), usable: Mutex::default() }
    }

    /// The service of the user's lane.
    pub fn of(&self, user: UserId) -> Option<Arc<Service>> {
        self.of_shard(Shards::DEFAULT.of(user))
    }

    pub fn of_shard(&self, shard: Shard) -> Option<Arc<Service>> {
        self.lanes[lane_of(shard)].lock().service.clone()
    }

    pub fn usable(&self) -> Vec<Arc<Service>> {
        self.usable.lock().clone()
    }

    pub fn follow(&self, user: UserId) {
        let mut lane = self.lane(user).lock();
        lane.followed.insert(user);
        lane.send_visit(Visit::Come(user));
    }

    pub fn unfollow(&self, user: UserId) {
        let mut lane = self.lane(user).lock();
        lane.followed.remove(&user);
        lane.send_visit(Visit::Left(user));
    }

    /// The service takes changes. It has been told of no user yet.
    pub fn add(&self, service: Arc<Service>) -> usize {
        self.change(|usable| usable.push(service))
    }

    /// The service takes no further changes.
    pub fn remove(&self, service: &Arc<Service>) -> usize {
        self.change(|usable| usable.retain(|other| !Arc::ptr_eq(other, service)))
    }

    /// The service says which shards it cannot commit now: their lanes go to services that can. Returns how many it are,
    /// and were before.
    pub fn set_away(&self, service: &Service, shards: &[u32]) -> (usize, usize) {
        let mut counts = (0, 0);
        self.change(|_| counts = service.set_away(shards));
        counts
    }

    /// Returns the number of usable services.
    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Service>>)) -> usize {
        let mut usable = self.usable.lock();
        change(&mut usable);
        let names: Vec<&str> = usable.iter().map(|service| service.name()).collect();
        let of_lane = |lane| move |shard| lane_of(shard) == lane;
        let placed = place(LANES, &names, |lane, index| usable[index].count_away(of_lane(lane)));
        for (lane, index) in self.lanes.iter().zip(placed) {
            lane.lock().move_to(index.map(|index| usable[index].clone()));
        }
        usable.len()
    }

    fn lane(&self, user: UserId) -> &Mutex<Lane> {
        &self.lanes[lane_of(Shards::DEFAULT.of(user))]
    }
}

impl Lane {
    fn send_visit(&self, visit: Visit) {
        self.service.iter().for_each(|service| service.send_visit(visit));
    }

    fn move_to(&mut self, service: Option<Arc<Service>>) {
        let is_same = match (&self.service, &service) {
            (Some(before), Some(after)) => Arc::ptr_eq(before, after),
            (None, None) => true,
            _ => false,
        };
        if is_same {
            return;
        }
        self.followed.iter().for_each(|user| self.send_visit(Visit::Left(*user)));
        self.service = service;
        self.followed.iter().for_each(|user| self.send_visit(Visit::Come(*user)));
    }
}
