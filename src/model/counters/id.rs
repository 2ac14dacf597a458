//! The name of a counter.

use crate::name::{Name, Named};

pub type CounterId = Name<OfCounter>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OfCounter;

impl Named for OfCounter {
    const WHAT: &'static str = "a counter";
}
