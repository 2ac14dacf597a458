//! What the gateway is for.
//!
//! [`ingest`] carries beats and forgetting to the hot store and the answers back; [`history`] and [`events`] read;
//! [`devices`] knows which connections a user has here and what is waiting for each of them; [`rewards`] decides which
//! user was first; [`outbox`] publishes what was claimed; [`live`] counts who is watching; [`revocations`] says which
//! tokens are refused although they are signed; [`time`] what time it is.

pub mod commit_listener;
pub mod devices;
pub mod events;
pub mod failures;
pub mod history;
pub mod history_job;
pub mod history_packs;
pub mod ingest;
pub mod live;
pub mod outbox;
pub mod peer_messages;
pub mod revocations;
pub mod rewards;
pub mod store_reads;
pub mod time;
