//! The probe listener of a process without sockets.

use prometheus_client::registry::Registry;

use super::{Degraded, Probed};
use crate::shutdown::Stop;

/// Ready as long as it runs: what it cannot write waits on the bus.
pub struct SocklessAdmin {
    pub stop: Stop,
    pub degraded: Vec<Degraded>,
    /// All that is counted, complete.
    pub registry: Registry,
}

impl Probed for SocklessAdmin {
    fn unready(&self) -> Vec<String> {
        self.stop.is_draining().then(|| "draining".to_owned()).into_iter().collect()
    }

    fn degraded(&self) -> Vec<String> {
        self.degraded.iter().flat_map(|part| part()).collect()
    }

    fn registry(&self) -> &Registry {
        &self.registry
    }
}
