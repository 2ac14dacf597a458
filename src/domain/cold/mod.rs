//! Reads of records that have left the hot store.
//!
//! ```text
//! a read of the hot store finds a mark ─▶ rows of the user, read under that mark before? ─▶ answer
//!                                            │ no
//!                                            ▼
//!                          breaker open? ─▶ `partial` at once
//!                                            │ closed
//!                                            ▼
//!                    one read of the history store for all askers ─▶ answer, or `partial` when it takes too long
//! ```
//!
//! Nothing that is read here goes back to the hot store. The rows of a user are kept for a minute. They hold as long as
//! no more rows leave: a content that changes has a row in the hot store, which counts.
//!
//! After the hot store was lost and rebuilt, a user without a head was not read yet: reads go to the history store, and
//! the first change waits until the head is made from one read of it.

mod breaker;
mod handle;
mod kept;
pub mod metrics;
mod reader;

#[cfg(test)]
mod reader_tests;

pub use handle::{HistoryHandle, OpenHistory};
pub use reader::ColdReader;
