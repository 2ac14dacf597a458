//! Universal counters.
//!
//! A *derived* counter is a sum over the stored records: [`Definition`] says which records it counts, by which key, and
//! [`deltas`](Definitions::deltas) computes from the [transitions](super::transition) of a commit what changes in it. A
//! *direct* counter is changed by requests, within bounds.
//!
//! ```text
//! transition (before, after) ─▶ key(before) −= value(before), key(after) += value(after) ─▶ deltas ≠ 0
//! ```

pub mod crossing;
mod definition;
mod deltas;
pub mod direct;
mod generation;
mod id;
mod key;
#[cfg(test)]
mod properties;
mod recount;
pub mod top;

pub use self::definition::{Definition, KeyField, Value, When};
pub use self::deltas::{Definitions, Deltas};
pub use self::generation::{Generation, Generations};
pub use self::id::CounterId;
pub use self::key::{CounterKey, NoCounterKey};
pub use self::recount::{Difference, Recount, RecountJob, RecountState};
