//! Proves that the history store has what may leave the hot store, and takes it out there.
//!
//! ```text
//! a region, by lease: its users beyond the bounds ─▶ read hot ─▶ read the history store ─▶ compare ─▶ counted
//!                                                                                            │ behind, twice
//!                                                                                            ▼
//!                                                                  listed again: packed and written anew
//! ```
//!
//! With `history.trim = "on"`, rows that are found leave the hot store, unless the user has changed since the hot store was
//! read. [`cold`](crate::cold) reads them from then on.
//!
//! Only users without waiting changes are compared, and the hot store is read first, so everything that it returns was
//! packed before. The history store may still be behind while packs wait on the bus. So a user is listed again only if
//! the history store is behind at a second look some time later, and the user has not changed.

mod behind;
pub mod compare;
pub mod comparer;
pub mod metrics;

#[cfg(test)]
mod comparer_tests;
