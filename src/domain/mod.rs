//! What the gateway is for.
//!
//! [`ingest`] carries beats and forgetting to the hot store and back to whoever is to be told; [`history`] and [`events`]
//! read; [`devices`] knows which connections a user has here and what is waiting for each of them; [`rewards`] decides
//! who was first; [`revocations`] says who may not come in although his token is good; [`timekeeper`] whether the
//! [`clock`] is that of the store.

pub mod clock;
pub mod devices;
pub mod events;
pub mod history;
pub mod ingest;
pub mod revocations;
pub mod rewards;
pub mod timekeeper;
