//! The settings of other servers. They are read and checked in every build, also in one without the drivers.

pub mod cassandra;
pub mod history_service;
pub mod kafka;
pub mod redis;
