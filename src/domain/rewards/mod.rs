//! Rewards: which day it is, what is remembered of it, and who has earned what.

pub mod today;
