//! Rewards as plain values: decisions once a day, per user or per content, by rules.

pub mod calendar;
pub mod claim;
pub mod credit;
pub mod day;
pub mod decided;
pub mod reward_event;
pub mod reward_notice;
pub mod rewarding;
pub mod rule;
pub mod view_rule;
pub mod zone;
