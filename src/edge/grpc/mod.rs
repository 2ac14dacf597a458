//! `heartline.v1.History` over gRPC: what back-ends write and read of any user.
//!
//! ```text
//! listener: accept ─▶ TLS ─▶ gate: caller, room, deadline ─▶ service ─▶ decode ─▶ put, reads, forgetting ─▶ encode
//!                                                                          │
//!                                            the intake, lanes and reads of sockets and HTTP
//! ```
//!
//! Callers are trusted: they name the users. So there is no limit for each user here but that of their lists; a caller
//! is held back by the number of its calls in progress. Nothing waits for room: a call that finds none is answered
//! RESOURCE_EXHAUSTED.

mod caller;
mod calls;
pub mod client;
pub mod config;
pub mod connection;
mod decode;
mod encode;
mod forgetting;
mod gate;
pub mod gateways;
mod listener;
mod metrics;
mod put;
mod reads;
pub mod server;
mod service;
mod status;

/// The code made from the schema in `proto/`.
#[allow(clippy::all, missing_docs)]
pub mod wire {
    tonic::include_proto!("heartline.v1");
}

/// The schema itself, for reflection.
const SCHEMA: &[u8] = tonic::include_file_descriptor_set!("heartline.v1");
