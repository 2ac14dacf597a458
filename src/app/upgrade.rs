//! Brings the Redis of a deployment to the format of this version.

use crate::storage::hot_store::redis::carry_over;
use crate::storage::redis::RedisRefused;
use crate::storage::redis::config::RedisConfig;
use crate::storage::redis::upgrade::{self, Upgraded};

/// Blocks until all users are carried over. Safe to repeat.
pub fn upgrade(config: &RedisConfig) -> Result<Upgraded, RedisRefused> {
    upgrade::upgrade(config, carry_over)
}
