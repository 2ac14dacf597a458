//! The name of a subscriber.

use crate::name::{Name, Named};

pub type SubscriberId = Name<OfSubscriber>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OfSubscriber;

impl Named for OfSubscriber {
    const WHAT: &'static str = "a subscriber";
}
