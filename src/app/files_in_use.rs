//! Keys, certificates and the country file, which a reload reads again. What could not be read stays as it was, and says so
//! until the next reload.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Display, Formatter};
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use super::assembly::Assembly;
use super::redis_certificates::{self, RedisCertificates};
use domain::time::clock;
use edge::auth::Verifier;
use edge::control::reload::Reread;
use edge::listener::Tls;
use edge::visitor::VisitorClasses;

const KEYS: &str = "keys";
const COUNTRY_FILE: &str = "country_file";

pub(super) struct FilesInUse {
    verifier: Arc<Verifier>,
    /// One for each listener that has one.
    certificates: Vec<Arc<Tls>>,
    redis: Option<Arc<RedisCertificates>>,
    visitors: Arc<VisitorClasses>,
    /// Why the last reload left something as it was.
    failed: Mutex<BTreeMap<&'static str, String>>,
}

/// Computed at each scrape.
#[derive(Clone)]
struct FileGauges(Arc<FilesInUse>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Listener {
    listener: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct What {
    what: &'static str,
}

impl FilesInUse {
    pub fn new(
        verifier: Arc<Verifier>,
        certificates: Vec<Arc<Tls>>,
        redis: Option<Arc<RedisCertificates>>,
        visitors: Arc<VisitorClasses>,
    ) -> Arc<Self> {
        warn_of_invalid(&certificates);
        Arc::new(FilesInUse { verifier, certificates, redis, visitors, failed: Mutex::default() })
    }

    /// Shows in the probes and the metrics what it has found.
    pub fn register(self: &Arc<Self>, assembly: &mut Assembly) {
        assembly.metrics().register_collector(Box::new(FileGauges(self.clone())));
        let of_probes = self.clone();
        assembly.degraded.push(Box::new(move || of_probes.degraded()));
    }

    pub fn read_again(&self) -> Vec<Reread> {
        let mut all = Vec::new();
        match self.verifier.reload() {
            Ok(keys) => {
                tracing::info!(event = "keys_reloaded", keys, "keys reloaded");
                all.push(self.succeeded(KEYS));
            }
            Err(error) => {
                tracing::error!(event = "keys_reload_failed", %error, "cannot reload keys; keeping the current ones");
                all.push(self.failed(KEYS, &error));
            }
        }
        for tls in &self.certificates {
            match tls.reload() {
                Ok(()) => {
                    tracing::info!(event = "certificate_reloaded", "certificate reloaded");
                    all.push(self.succeeded(certificate_of(tls)));
                }
                Err(error) => {
                    tracing::error!(event = "certificate_reload_failed", %error, "cannot reload the certificate; keeping the current one");
                    all.push(self.failed(certificate_of(tls), &error));
                }
            }
        }
        warn_of_invalid(&self.certificates);
        all.extend(self.redis.iter().map(|redis| redis.read_again()));
        match self.visitors.reload() {
            Some(Ok(())) => {
                tracing::info!(event = "country_file_reloaded", "country file reloaded");
                all.push(self.succeeded(COUNTRY_FILE));
            }
            Some(Err(error)) => {
                tracing::error!(event = "country_file_reload_failed", %error, "cannot reload the country file; keeping the current one");
                all.push(self.failed(COUNTRY_FILE, &error));
            }
            None => {}
        }
        all
    }

    fn failed(&self, what: &'static str, why: &dyn Display) -> Reread {
        self.failed.lock().insert(what, format!("the last reload failed: {why}"));
        Reread { what, result: Err(why.to_string()) }
    }

    fn succeeded(&self, what: &'static str) -> Reread {
        self.failed.lock().remove(what);
        Reread { what, result: Ok(()) }
    }

    fn degraded(&self) -> Vec<String> {
        let invalid = self.certificates.iter().filter_map(|tls| tls.invalid(clock::wall()));
        let of_redis = self.redis.iter().filter_map(|redis| redis.degraded());
        self.failed.lock().values().cloned().chain(of_redis).chain(invalid).collect()
    }
}

fn warn_of_invalid(certificates: &[Arc<Tls>]) {
    for reason in certificates.iter().filter_map(|tls| tls.invalid(clock::wall())) {
        tracing::warn!(event = "certificate_invalid", reason, "clients refuse the certificate; renew it and reload");
    }
}

fn certificate_of(tls: &Tls) -> &'static str {
    match tls.section() {
        "grpc" => "grpc_certificate",
        _ => "server_certificate",
    }
}

impl Debug for FileGauges {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        formatter.debug_tuple("FileGauges").field(&*self.0.failed.lock()).finish()
    }
}

impl Collector for FileGauges {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let files = &self.0;
        let help = "1 while what the last reload read could not be used";
        let mut family = encoder.encode_descriptor("reload_failed", help, None, MetricType::Gauge)?;
        let certificates = files.certificates.iter().map(|tls| certificate_of(tls));
        for what in [KEYS, COUNTRY_FILE].into_iter().chain(certificates) {
            let failed = ConstGauge::new(i64::from(files.failed.lock().contains_key(what)));
            failed.encode(family.encode_family(&What { what })?)?;
        }
        if let Some(redis) = &files.redis {
            let failed = ConstGauge::new(i64::from(redis.has_failed()));
            failed.encode(family.encode_family(&What { what: redis_certificates::WHAT })?)?;
        }
        if files.certificates.is_empty() {
            return Ok(());
        }
        let help = "Seconds until the certificate of a listener expires, or another one of its chain; negative: it has expired";
        let mut family = encoder.encode_descriptor("certificate_expiry_seconds", help, None, MetricType::Gauge)?;
        for tls in &files.certificates {
            let Some(validity) = tls.validity() else { continue };
            let left = validity.to as f64 - clock::wall() as f64 / 1_000.0;
            ConstGauge::new(left).encode(family.encode_family(&Listener { listener: tls.section() })?)?;
        }
        Ok(())
    }
}
