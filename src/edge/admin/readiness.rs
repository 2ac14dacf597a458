//! Whether a load balancer may send clients here: for `/readyz`, and as the gauge `heartline_ready`.

use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::shutdown::Stop;
use domain::ingest::health::StoreHealth;
use domain::time::guard::ClockStatus;

pub struct Readiness {
    pub health: Arc<StoreHealth>,
    /// Not ready while less than this share of the users is served.
    pub ready_share: f64,
    pub stop: Stop,
    pub clock_status: ClockStatus,
}

/// Exports, for each reason, whether the gateway is ready as far as that is concerned.
#[derive(Clone)]
pub struct ReadyGauge(pub Arc<Readiness>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    reason: &'static str,
}

impl Readiness {
    /// Why the gateway is not ready, each in a few words; empty = it is ready.
    pub fn unready(&self) -> Vec<String> {
        self.reasons().into_iter().filter_map(|(_, unready)| unready).collect()
    }

    /// The share of users whose changes are committed.
    pub fn served(&self) -> f64 {
        if self.clock_status.is_store_silent() { 0.0 } else { self.health.served() }
    }

    /// Each possible reason by the name of its label, with what is wrong; `None` = nothing.
    fn reasons(&self) -> [(&'static str, Option<String>); 3] {
        let served = self.served();
        [
            ("draining", self.stop.is_ending().then(|| "draining".to_owned())),
            ("clock", self.clock_status.trouble()),
            ("store", (served < self.ready_share).then(|| self.waiting(served))),
        ]
    }

    /// Says which writes the store does not take, and why. `served`: the share of users, less than 1.
    pub fn waiting(&self, served: f64) -> String {
        let what = match served > 0.0 {
            true => format!("the store takes no writes of {:.1} % of the users", 100.0 * (1.0 - served)),
            false => "the store takes no writes".to_owned(),
        };
        match self.health.troubles() {
            troubles if troubles.is_empty() => what,
            troubles => format!("{what}: {}", troubles.join("; ")),
        }
    }
}

impl std::fmt::Debug for ReadyGauge {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.debug_tuple("ReadyGauge").field(&self.0.unready()).finish()
    }
}

impl Collector for ReadyGauge {
    fn encode(&self, mut encoder: DescriptorEncoder) -> std::fmt::Result {
        let help = "0 while this reason keeps the gateway from being ready, otherwise 1";
        let mut family = encoder.encode_descriptor("ready", help, None, MetricType::Gauge)?;
        for (reason, unready) in self.0.reasons() {
            let ready = ConstGauge::new(i64::from(unready.is_none()));
            ready.encode(family.encode_family(&Labels { reason })?)?;
        }
        Ok(())
    }
}
