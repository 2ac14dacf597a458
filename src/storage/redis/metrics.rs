//! The metrics of the connections.

use std::sync::atomic::AtomicI64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::address::Address;
use super::memory::Memory;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NodeLabels {
    node: String,
}

/// Why the scripts of a group are called again.
#[derive(Clone, Copy, Debug)]
pub(super) enum Failed {
    /// There was no checked connection.
    Away,
    /// The connection was lost or closed: the outcome is unknown.
    Unknown,
    /// A shard was on another node.
    Moved,
    /// A script was not loaded.
    NoScript,
    /// The server or the script refused the call.
    Refused,
}

#[derive(Clone)]
pub(super) struct Metrics {
    nodes: Gauge<i64, AtomicI64>,
    pub lost: Counter,
    calls: Family<Labels, Counter>,
    swapped: Counter,
    not_swapped: Counter,
    memory_used: Family<NodeLabels, Gauge>,
    memory_max: Family<NodeLabels, Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Metrics {
            nodes: Gauge::default(),
            lost: Counter::default(),
            calls: Family::default(),
            swapped: Counter::default(),
            not_swapped: Counter::default(),
            memory_used: Family::default(),
            memory_max: Family::default(),
        };
        // Shown as 0 from the start, so that the first one is an increase.
        for failed in [Failed::Away, Failed::Unknown, Failed::Moved, Failed::NoScript, Failed::Refused] {
            metrics.counter(failed);
        }
        metrics
    }
}

impl Metrics {
    pub fn register(&self, registry: &mut Registry) {
        registry.register("redis_nodes_connected", "Redis masters connected and fit for use", self.nodes.clone());
        registry.register(
            "redis_links_lost",
            "Connections to a Redis master that were lost or given up",
            self.lost.clone(),
        );
        registry.register(
            "redis_commit_failures",
            "Script pipelines to one node that failed, by kind: away, unknown (outcome), moved, no_script, refused",
            self.calls.clone(),
        );
        registry.register("redis_swaps", "Values replaced by SET IFEQ", self.swapped.clone());
        registry.register(
            "redis_swaps_refused",
            "SET IFEQ that found another value; a script call followed",
            self.not_swapped.clone(),
        );
        let meaning = "Bytes of memory that a Redis master uses for its data";
        registry.register("redis_memory_used_bytes", meaning, self.memory_used.clone());
        let meaning = "Bytes at which it refuses writes: maxmemory, or the memory of its machine";
        registry.register("redis_memory_max_bytes", meaning, self.memory_max.clone());
    }

    /// Shows the memory that a connected server reports; `None` shows it no longer, since it is not known any more.
    pub fn memory(&self, node: &Address, memory: Option<Memory>) {
        let labels = NodeLabels { node: node.to_string() };
        match memory {
            Some(Memory { used, max }) => {
                self.memory_used.get_or_create(&labels).set(i64::try_from(used).unwrap_or(i64::MAX));
                self.memory_max.get_or_create(&labels).set(i64::try_from(max).unwrap_or(i64::MAX));
            }
            None => {
                self.memory_used.remove(&labels);
                self.memory_max.remove(&labels);
            }
        }
    }

    pub fn connected(&self, change: i64) {
        self.nodes.inc_by(change);
    }

    pub fn swapped(&self, done: u64, refused: u64) {
        self.swapped.inc_by(done);
        self.not_swapped.inc_by(refused);
    }

    pub fn failed(&self, failed: Failed) {
        self.counter(failed).inc();
    }

    fn counter(&self, failed: Failed) -> Counter {
        let kind = match failed {
            Failed::Away => "away",
            Failed::Unknown => "unknown",
            Failed::Moved => "moved",
            Failed::NoScript => "no_script",
            Failed::Refused => "refused",
        };
        self.calls.get_or_create(&Labels { kind }).clone()
    }
}
