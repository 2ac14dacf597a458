//! One socket, from the upgrade to the close.
//!
//! ```text
//! upgrade ─▶ greeting ─▶ live_socket ◀─▶ conversation
//! (HTTP)     (hello)     (I/O, timers)   (what is said: seq, acks, operations; no I/O)
//!                          ▲
//!                        roster: all of a thread; says what was left for them, above all acks, in one turn
//! ```
//!
//! A [`socket`] reads and writes with the buffers of its thread, the [`workbench`]; a [`decoder`] makes messages of what
//! was read, after [`inflow`] has counted it.

pub mod close;
pub mod conversation;
pub mod decoder;
pub mod greeting;
mod held;
pub mod inflow;
mod lease;
pub mod limits;
pub mod live_socket;
mod long_frame;
pub mod operation;
mod order;
pub mod rate;
mod replies;
pub mod roster;
pub mod silence;
pub mod socket;
pub mod stream;
pub mod unanswered;
pub mod upgrade;
pub mod workbench;
