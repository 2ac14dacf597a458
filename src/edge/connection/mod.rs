//! One socket, from the upgrade to the close.
//!
//! ```text
//! upgrade ─▶ greeting ─▶ socket_loop ◀─▶ conversation
//! (HTTP)     (hello)     (I/O, timers)   (what is said: seq, acks, operations; no I/O)
//! ```

pub mod close;
pub mod conversation;
pub mod greeting;
pub mod limits;
pub mod operation;
pub mod rate;
pub mod silence;
pub mod socket;
pub mod socket_loop;
pub mod upgrade;
