//! Parts of the bus, in each of which events have an order.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Offset;

/// A part of the bus: `heartline.rewards/3`, a partition of Kafka, or `rewards@1f0c…`, an embedded log with its id. It
/// has neither spaces nor control characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Part(Arc<str>);

/// An offset of each part; one that is missing is 0, which is before the first event.
pub type Offsets = BTreeMap<Part, Offset>;

impl Part {
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Part(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
