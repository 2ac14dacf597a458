//! Attacks on a gateway that serves an honest crowd, and what they do to it.
//!
//! ```text
//! siege ── workers: the honest crowd, throughout    ┐
//!   │  └── newcomers: honest sockets that come and go├─▶ gateway, a process of its own
//!   └───── attacker, a process of its own           ┘
//! ```
//!
//! An attacker is a client and no more: its connections and what they send come at the pace of [`plan`], so that it is
//! the gateway that is tried and not the processors, which all of them share. Its connections come from one address, or
//! as many as it is given, which no honest socket has.

mod attacker;
mod batches;
mod bytes;
mod counters;
mod ending;
mod floods;
mod handshakes;
mod newcomers;
mod options;
mod plan;
mod readers;
mod returns;
mod scene;
mod siege;
mod spell;
mod verdict;

pub use attacker::run;
pub use options::SiegeOptions;
pub use plan::Attacks;
pub use siege::lay;
