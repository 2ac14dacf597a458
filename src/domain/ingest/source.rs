//! Where beats come from.

use std::sync::Arc;
use std::time::Instant;

use crate::devices::inbox::Inbox;
use crate::rewards::decisions::Decisions;
use model::rewards::day::Day;

/// One frame, or one request.
pub struct Source<'a> {
    pub inbox: &'a Arc<Inbox>,
    pub device: &'a Arc<str>,
    pub seq: u32,
    /// When the beats were read.
    pub read: Instant,
    /// The flag of the frame.
    pub flag: Option<Day>,
    pub decisions: &'a Decisions,
    /// The indexes of beats whose content has a number that belongs to another name.
    pub misnamed: &'a [u32],
    /// Until when a steady beat may wait for later ones, if it is the only beat of its frame.
    pub hold_until: Option<Instant>,
}
