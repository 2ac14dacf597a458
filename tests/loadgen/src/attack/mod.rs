//! Attacks on a gateway that serves an honest crowd, and their effect on the crowd.
//!
//! ```text
//! siege ── workers: the honest crowd, throughout    ┐
//!   │  └── newcomers: honest sockets that come and go├─▶ gateway, a process of its own
//!   └───── attacker, a process of its own           ┘
//! ```
//!
//! An attacker is an ordinary client: it connects and sends at the pace of [`plan`], so that an attack tests the
//! gateway and not the processors, which all processes share. Its connections come from its own addresses, which no
//! honest socket has.

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
