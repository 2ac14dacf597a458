//! Why the key of a sum is not read.

/// The text is not the key of a sum.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not the key of a sum: {0:?}")]
pub struct NoSumKey(pub String);
