//! The tools of the black-box tests: a gateway of their own (the real binary, on free ports, in a temporary directory)
//! and clients that know the published protocol and nothing of `src/`.
//!
//! Included by path from each test target, so every target uses a part of it only.
#![allow(dead_code, unused_imports)]

mod beat;
mod binary;
mod client;
pub mod country_file;
pub mod depth;
mod exchange;
mod freezing_proxy;
mod gateway;
mod history_service;
mod http;
pub mod keys;
mod live_stream;
mod raw_socket;
mod ready_lines;
pub mod redis_server;
mod rewards;
mod starting;
mod threads;
mod token;
mod upgrade;

pub use beat::{Beat, beat, beats, items};
pub use client::{Acked, TestClient, in_time, reasons, until};
pub use country_file::country_file;
pub use freezing_proxy::FreezingProxy;
pub use gateway::{DEMO_OVERRIDE, FailedStart, TestGateway, run};
pub use history_service::HistoryService;
pub use http::{Answer, Http};
pub use live_stream::LiveStream;
pub use raw_socket::{Opcode, RawSocket};
pub use redis_server::RedisServer;
pub use rewards::{per_content, per_user, post_beats, rules};
pub use starting::Starting;
pub use token::{CONTROL_TOKEN, SECRET, Token, unix_seconds};
pub use upgrade::{JSON_PROTOCOL, Refusal, Upgrade};

use std::time::Duration;

/// The longest a test waits for what it was promised. Reached only by a test that fails, however busy the machine is.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The setting of a timer that must not be what ends a wait: a test that meets it has run out of patience long before.
pub const NEVER: &str = "10m";

/// The user most tests act as; each has a gateway of its own, so they never meet.
pub const MID: u64 = 42;
