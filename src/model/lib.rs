//! Plain values and rules, no I/O.
//!
//! [`rule`] says which beat wins; [`record`] and [`forgetting`] are what it decides over, [`recording`] is the list of
//! switches that decides whether a moment may be kept at all. Everything here is a pure function of its arguments, so
//! that every store can be held to it.

pub mod backoff;
pub mod beat;
pub mod change;
pub mod cloud_event;
pub mod cold;
pub mod content_name;
pub mod counters;
pub mod decide;
pub mod duration_text;
pub mod event_page;
pub mod event_topic;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
pub mod forgetting;
pub mod ids;
pub mod live;
pub mod mid_hash;
pub mod moment;
pub mod name;
pub mod notices;
pub mod outbox_entry;
pub mod pack;
pub mod page;
pub mod percent;
pub mod push;
pub mod reading;
pub mod record;
pub mod recording;
pub mod retention;
pub mod revocation;
pub mod rewards;
pub mod rows_read;
pub mod rule;
pub mod secret;
pub mod sender;
pub mod shard;
pub mod subscribers;
pub mod sums;
pub mod transition;
pub mod user_name;
pub mod version;
pub mod view;
pub mod visitor;
pub mod walk;

#[cfg(test)]
mod rule_properties;
