//! Calls of the scripts: what all of them are given, and which keys they touch.

use std::iter;

use ::redis::{Script, Value};

use super::answer::MALFORMED;
use super::{keys, unit};
use crate::{Call, Redis, joined};
use model::shard::Shard;
use model::subscribers::SubscriberId;
use storage::owner_queues::Bounds;
use storage::owner_queues::unreadable::UnreadableOwners;
use storage::store_error::StoreError;

pub type Words = Vec<Vec<u8>>;

/// Cheap to clone.
#[derive(Clone)]
pub struct Queues {
    pub redis: Redis,
    pub bounds: Bounds,
    pub unreadable: UnreadableOwners,
}

/// A number, or anything else that is shown as text.
pub fn word(value: impl ToString) -> Vec<u8> {
    value.to_string().into_bytes()
}

impl Queues {
    /// The units that one call can be about together.
    pub fn parts(&self, units: impl IntoIterator<Item = Shard>) -> Vec<Vec<Shard>> {
        let mut units: Vec<Shard> = units.into_iter().collect();
        let parts = joined::split(&self.redis, &mut units, |unit| *unit, |_| 1);
        parts.into_iter().map(|part| part.to_vec()).collect()
    }

    /// A call about these units.
    pub fn of_units(&self, units: Vec<Shard>, args: impl IntoIterator<Item = Vec<u8>>) -> Call {
        let keys = self.named(|| units.iter().copied().flat_map(keys::of_unit).collect());
        Call { shards: units, keys, args: self.args(args) }
    }

    /// A call about these owners of these units.
    pub fn of_owners(&self, units: Vec<Shard>, ids: &[&SubscriberId], args: impl IntoIterator<Item = Vec<u8>>) -> Call {
        let of_units = || units.iter().copied().flat_map(keys::of_unit);
        let of_owners = || ids.iter().flat_map(|id| keys::of_owner(unit::unit_of(id), id));
        let keys = self.named(|| of_units().chain(of_owners()).collect());
        Call { shards: units, keys, args: self.args(args) }
    }

    /// Does one call about one owner. The arguments are those after its id.
    pub async fn of_owner(
        &self,
        script: &Script,
        id: &SubscriberId,
        args: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<Value, StoreError> {
        let args = iter::once(word(id)).chain(args);
        self.one(script, self.of_owners(vec![unit::unit_of(id)], &[id], args)).await
    }

    pub async fn one(&self, script: &Script, call: Call) -> Result<Value, StoreError> {
        let answer = self.redis.run(script, vec![call]).await?.pop();
        Ok(answer.ok_or(MALFORMED)?)
    }

    /// In a Cluster a script must not begin while its keys are on their way to another node.
    fn named(&self, keys: impl FnOnce() -> Words) -> Words {
        if self.redis.joins_shards() { Vec::new() } else { keys() }
    }

    fn args(&self, more: impl IntoIterator<Item = Vec<u8>>) -> Words {
        let Bounds { events, bytes, age } = self.bounds;
        let bounds = [word(events), word(bytes), word(age.as_millis())];
        iter::once(self.redis.deployment().as_bytes().to_vec()).chain(bounds).chain(more).collect()
    }
}
