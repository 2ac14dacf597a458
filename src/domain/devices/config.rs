//! Settings of the pushes. Each is explained, with its default, in `deploy/heartline.toml`.

use std::time::Duration;

use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PushConfig {
    /// How long a position that merely moved on may wait before the user's other devices are told.
    #[serde(with = "humantime_serde")]
    pub steady_interval: Duration,
    /// Whether `steady_interval` was given. No setting of its own.
    #[serde(skip)]
    pub steady_interval_is_given: bool,
}
