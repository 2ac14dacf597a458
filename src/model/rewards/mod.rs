//! Rewards as plain values: what is decided once a day, for whom, and by which rule.

pub mod calendar;
pub mod claim;
pub mod credit;
pub mod day;
pub mod decided;
pub mod reward_event;
pub mod rewarding;
pub mod rule;
pub mod zone;
