//! Derived counters, in the database of the records: a delta is in the batch of the change that it follows from.

mod counting;
mod tables;

pub use self::counting::{Counting, Next};
pub use self::tables::CounterTables;
