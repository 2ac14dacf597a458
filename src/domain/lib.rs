//! The functions of the gateway, without protocols and backends.
//!
//! [`ingest`] carries beats, deletes and clears to the hot store and the answers back; [`history`] and [`events`] read;
//! [`cold`] reads records that have left the hot store; [`devices`] knows the connections of each user here and the pushes that wait for them; [`rewards`] decides which
//! beats are rewarded; [`outbox`] publishes claims; [`live`] counts current sessions, [`views`] counts views; [`counters`] reads
//! and changes counters; the [`cascade`] delivers events to [`subscribers`];
//! [`notices`] tells of positions and forgettings; [`flights`] carries sums to the statistics store; [`revocations`] knows the revoked tokens; [`time`] is the server
//! clock.

pub mod cascade;
pub mod cold;
pub mod commit_listener;
pub mod content_names;
pub mod counters;
pub mod devices;
pub mod elsewhere;
pub mod events;
pub mod failures;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
pub mod flights;
pub mod gateway_messages;
pub mod history;
pub mod history_job;
pub mod history_packs;
pub mod history_trim;
pub mod ingest;
pub mod live;
pub mod names;
pub mod notices;
pub mod outbox;
pub mod peer_messages;
pub mod revocations;
pub mod rewards;
pub mod store_reads;
pub mod stored_users;
pub mod subscribers;
pub mod time;
pub mod views;
