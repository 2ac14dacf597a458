//! Which request an id belongs to: the arguments of `hold.lua`, and its answer.

use std::sync::{Arc, LazyLock};

use ::redis::{Script, Value};

use super::keys;
use super::words::{Words, index_of};
use super::{EXPIRE, REMEMBERED};
use crate::script::script;
use crate::value::{self, DecodeError};
use crate::{Call, Redis, joined};
use model::counters::CounterId;
use model::shard::{Shard, Shards};
use storage::counters::Addition;

pub static HOLD: LazyLock<Script> = LazyLock::new(|| script(include_str!("hold.lua")));

/// Holds an id for a request, or gives it free if the request that asks still holds it.
#[derive(Clone, Debug)]
pub struct Hold {
    counter: CounterId,
    id: Arc<str>,
    now: u64,
    /// Names this request among those that ask for the same.
    request: u64,
    /// The addition and its key.
    asked: String,
    release: bool,
}

impl Hold {
    pub fn of(addition: &Addition, id: &Arc<str>, request: u64) -> Self {
        let asked = format!("{} {}", addition.by, addition.key.encoded());
        let (counter, id) = (addition.counter.id.clone(), id.clone());
        Hold { counter, id, now: addition.now, request, asked, release: false }
    }

    pub fn release(self) -> Self {
        Hold { release: true, ..self }
    }

    pub fn shard(&self) -> Shard {
        Shards::DEFAULT.of_counter_request(&self.counter, &self.id)
    }

    fn put(&self, index: usize, args: &mut Words) {
        let what: &[u8] = if self.release { b"release" } else { b"hold" };
        args.extend([
            index.to_string().into_bytes(),
            self.counter.to_string().into_bytes(),
            self.id.as_bytes().to_vec(),
            self.now.to_string().into_bytes(),
            what.to_vec(),
            format!("{:016x}", self.request).into_bytes(),
            self.asked.clone().into_bytes(),
        ]);
    }

    /// Whether the id is held for what is asked.
    pub fn held(answer: Value) -> Result<bool, DecodeError> {
        Ok(value::number(answer)? == 1)
    }
}

/// A call for these, which are in the order of their shards.
pub fn call(redis: &Redis, holds: &[&Hold]) -> Call {
    let shards = joined::shards(holds, |hold| hold.shard());
    let mut args = vec![redis.deployment().as_bytes().to_vec()];
    args.extend([REMEMBERED, EXPIRE].map(|time| time.as_millis().to_string().into_bytes()));
    for hold in holds {
        hold.put(index_of(&shards, hold.shard()), &mut args);
    }
    let key = |hold: &&Hold| keys::hold(hold.shard(), &hold.counter, &hold.id).into_bytes();
    let keys = if redis.joins_shards() { Vec::new() } else { holds.iter().map(key).collect() };
    Call { shards, keys, args }
}
