//! What the probe listener says of a process that has no sockets.

use prometheus_client::registry::Registry;

use super::{Degraded, Probed, draining};
use crate::shutdown::Stop;

/// Ready as long as it runs: what it cannot write waits on the bus.
pub struct JobAdmin {
    pub stop: Stop,
    pub degraded: Degraded,
    /// All that is counted, complete.
    pub registry: Registry,
}

impl Probed for JobAdmin {
    fn unready(&self) -> Vec<String> {
        draining(&self.stop)
    }

    fn degraded(&self) -> Vec<String> {
        (self.degraded)()
    }

    fn registry(&self) -> &Registry {
        &self.registry
    }
}
