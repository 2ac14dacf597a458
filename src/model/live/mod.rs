//! The live numbers: current sessions, their counts, the contents with the most sessions, and the last hour.
//!
//! ```text
//! LiveChange ─▶ sessions (with wheel) ─▶ contents ─▶ top
//!                                     ├─▶ shares
//!                                     └─▶ series
//! ```
//!
//! `now` is an argument, in milliseconds of the server's clock. It never goes back.

pub mod change;
mod contents;
mod history;
mod index;
mod numbers;
mod series;
mod sessions;
mod shares;
mod top;
mod visits;
mod wheel;

pub use change::{LiveChange, Played};
pub use contents::Counts;
pub use numbers::{LiveNumbers, Sizes};
pub use series::{MINUTES, SECONDS};
pub use shares::{Shares, Tally};
pub use top::{Ranked, Ranking};
pub use visits::Visit;

#[cfg(test)]
mod properties;
