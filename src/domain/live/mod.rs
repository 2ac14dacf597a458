//! The live numbers: which contents are being watched now, and by how many.
//!
//! ```text
//! commit, kick, erasure ─▶ inlet (bounded) ─▶ the live thread: model/live ─▶ board, once a second ─▶ readers
//! ```
//!
//! Commits and readers take a lock for as long as moving a list or copying two numbers takes. A full inlet makes the
//! numbers late, never a commit.

pub mod board;
pub mod config;
pub mod counting;
pub mod inlet;
