//! The tests of the library: each folder has a subject, and says which. One program, since each takes its time to link.
//!
//! Tests that need a service are ignored, and say which part of `tests/run` starts it.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "backends/mod.rs"]
mod backends;
#[path = "cold_search/mod.rs"]
mod cold_search;
#[path = "conflicts/mod.rs"]
mod conflicts;
#[path = "conversation/mod.rs"]
mod conversation;
#[path = "history_store/mod.rs"]
mod history_store;
#[path = "http/mod.rs"]
mod http;
#[path = "kafka_bus/mod.rs"]
mod kafka_bus;
#[path = "redis/mod.rs"]
mod redis;
#[path = "rewards_memory/mod.rs"]
mod rewards_memory;
#[path = "state_search/mod.rs"]
mod state_search;
#[path = "statistics/mod.rs"]
mod statistics;
#[path = "sums/mod.rs"]
mod sums;

#[path = "support/mod.rs"]
mod support;
// What imports the library: the tests of the gateway, which share the rest, import nothing of it.
#[path = "support/bus.rs"]
mod bus;
#[path = "support/cutting_proxy.rs"]
mod cutting_proxy;
#[path = "support/statistics.rs"]
mod fake_statistics;
#[path = "support/mongo_server.rs"]
mod mongo_server;
