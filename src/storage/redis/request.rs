//! Requests in one pipeline to a node: calls of a script, and swaps.

use ::redis::{Pipeline, Script, Value};

use super::deployment;
use super::swap::{Swap, Swapped};
use model::shard::Shard;

/// Swaps in one transaction. A server with `appendfsync always` syncs once for each piece of input that it reads, so a
/// transaction saves syncs. Other clients wait for 1 to 2 ms.
pub(super) const SWAPS_TOGETHER_MAX: usize = 1_024;

/// One call of a script about keys of these shards. Several shards need [`joins_shards`](super::Redis::joins_shards).
#[derive(Debug)]
pub struct Call {
    pub shards: Vec<Shard>,
    /// Keys of a shard of a Cluster that the script touches. While one of them moves to another node the call is not
    /// begun.
    pub keys: Vec<Vec<u8>>,
    pub args: Vec<Vec<u8>>,
}

#[derive(Debug)]
pub enum Request {
    /// A call of the script.
    Call(Call),
    Swap(Swap),
}

#[derive(Clone, Debug)]
pub enum Reply {
    Called(Value),
    Swapped(Swapped),
}

impl Call {
    /// About keys of one shard.
    pub fn of(shard: Shard, args: Vec<Vec<u8>>) -> Self {
        Call { shards: vec![shard], keys: Vec::new(), args }
    }
}

impl Request {
    /// A shard of the request: its node has all keys of the request.
    pub(super) fn home(&self) -> Shard {
        match self {
            Request::Call(call) => call.shards[0],
            Request::Swap(swap) => swap.shard,
        }
    }

    pub(super) fn is_of_one_shard(&self) -> bool {
        match self {
            Request::Call(call) => call.shards.len() == 1,
            Request::Swap(_) => true,
        }
    }

    pub(super) fn is_swap(&self) -> bool {
        matches!(self, Request::Swap(_))
    }

    pub(super) fn channel(&self) -> Option<&String> {
        match self {
            Request::Call(_) => None,
            Request::Swap(swap) => swap.channel.as_ref(),
        }
    }

    fn put(&self, script: &Script, pipeline: &mut Pipeline) {
        match self {
            Request::Call(call) => {
                let evalsha = pipeline.cmd("EVALSHA").arg(script.get_hash()).arg(call.shards.len() + call.keys.len());
                for shard in &call.shards {
                    evalsha.arg(deployment::key(*shard));
                }
                evalsha.arg(&call.keys).arg(&call.args);
            }
            Request::Swap(swap) => swap.put(pipeline),
        }
    }
}

/// The pipeline, and the number of its answers: swaps, counts of subscribers of the swapped users, and calls.
/// Subscribers are counted after the swaps: a later subscriber reads the new value. `joined`: the server takes several
/// shards in one step.
pub(super) fn pipeline(script: &Script, requests: &[&Request], joined: bool) -> (Pipeline, usize) {
    let (swaps, calls) = requests.split_at(swaps_of(requests));
    let mut pipeline = Pipeline::with_capacity(requests.len() + 3);
    let mut count = calls.len();
    for together in swaps.chunks(SWAPS_TOGETHER_MAX) {
        let transaction = joined && together.len() > 1;
        if transaction {
            pipeline.cmd("MULTI");
        }
        together.iter().for_each(|swap| swap.put(script, &mut pipeline));
        if transaction {
            pipeline.cmd("EXEC");
        }
        count += together.len() + if transaction { 2 } else { 0 };
    }
    let channels: Vec<&String> = swaps.iter().filter_map(|swap| swap.channel()).collect();
    if !channels.is_empty() {
        pipeline.cmd("PUBSUB").arg("SHARDNUMSUB").arg(channels);
        count += 1;
    }
    calls.iter().for_each(|call| call.put(script, &mut pipeline));
    (pipeline, count)
}

/// Swaps stand before calls.
fn swaps_of(requests: &[&Request]) -> usize {
    requests.partition_point(|request| request.is_swap())
}
