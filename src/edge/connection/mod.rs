//! One socket, from the upgrade to the close.
//!
//! ```text
//! upgrade ─▶ greeting ─▶ live_socket ◀─▶ conversation
//! (HTTP)     (hello)     (I/O, timers)   (what is said: seq, acks, operations; no I/O)
//!                          ▲
//!                        connection_set: all of a thread; says what was left for them, above all acks, in one pass
//! ```
//!
//! A [`socket`] reads and writes with the buffers of its thread, the [`scratch_buffers`]; a [`decoder`] makes messages
//! of what was read, after [`inflow`] has counted it.

pub mod close;
pub mod connection_log;
pub mod connection_set;
pub mod conversation;
pub mod decoder;
pub mod end;
pub mod greeting;
pub mod idle_timer;
pub mod inflow;
pub mod live_socket;
pub mod scratch_buffers;
pub mod socket;
pub mod stream;
pub mod upgrade;
