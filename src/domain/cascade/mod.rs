//! The cascade: brings events from the bus to subscribers.
//!
//! ```text
//! event bus ─▶ Cascade: which owners want it ─▶ owners' queues ─▶ Workers: one Turn after the other ─▶ endpoints
//! log       ─▶ Replays                       ─▶
//! ```
//!
//! It looks at events and subscriptions, and at nothing else. The bus is read at its own pace: a subscriber that does not
//! take its events fills its own queue, and slows neither the bus nor another subscriber.

mod fanout;
pub mod health;
mod index;
mod looks;
mod metrics;
mod replays;
mod slots;
mod state_log;
mod steps;
mod turn;
mod workers;

pub use fanout::Cascade;
pub use looks::Looks;
pub use metrics::Metrics;
pub use replays::Replays;
pub use slots::Slots;
pub use turn::{TurnSettings, Turns};
pub use workers::Workers;

#[cfg(test)]
mod tests;
