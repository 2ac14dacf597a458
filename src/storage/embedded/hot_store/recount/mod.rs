//! Counts of all records, for derived counters that are new or in doubt, and the reads of what they have counted.

mod derived;
mod jobs;
mod recounter;
mod top;
mod walk;

pub use self::derived::EmbeddedCounters;
pub use self::jobs::Jobs;
pub use self::recounter::Recounter;
