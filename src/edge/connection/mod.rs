//! One socket, from the upgrade to the close.
//!
//! ```text
//! upgrade ─▶ greeting ─▶ socket_loop ◀─▶ conversation
//! (HTTP)     (hello)     (I/O, timers)   (what is said: seq, acks, operations; no I/O)
//! ```
//!
//! Whatever is read of a socket goes through [`inflow`], which counts it before it is a message.

pub mod close;
pub mod conversation;
pub mod greeting;
pub mod inflow;
pub mod limits;
pub mod operation;
pub mod rate;
pub mod silence;
pub mod socket;
pub mod socket_loop;
pub mod upgrade;
