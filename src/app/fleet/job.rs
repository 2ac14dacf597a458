//! The job that writes the history store: beside a gateway, or in a process of its own.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use prometheus_client::registry::Registry;

use super::super::assembly::Assembly;
use super::super::error::StartError;
use super::super::role::Role;
use super::super::spawn::{runtime, spawn};
use super::sockless;
use crate::config::Config;
use crate::telemetry::log_writer::LogWriter;
use domain::history_job::health::{JobHealth, Step};
use domain::history_job::job::{BATCH_BYTES, Job, WORKERS};
use domain::history_job::metrics::Metrics;
use domain::time::clock;
use edge::shutdown::{Signals, Stop};
use model::retention::Retention;
use storage_cassandra::{CassandraRefused, CassandraStore, Schema};
use storage_kafka::history_bus::quarantine::KafkaQuarantine;
use storage_kafka::history_bus::source::KafkaSource;

/// Bytes of packs that are read and not committed: those of the workers, and as much again.
const READ_BYTES_MAX: usize = 2 * WORKERS * BATCH_BYTES;
/// Until the history store is asked for again, beside a gateway.
const STORE_AGAIN: Duration = Duration::from_secs(5);

/// All but the store, which may be away.
pub(in super::super) struct HistoryJob {
    config: Config,
    source: Arc<KafkaSource>,
    quarantine: Arc<KafkaQuarantine>,
    pub health: Arc<JobHealth>,
    metrics: Metrics,
    of_store: storage_cassandra::Metrics,
}

impl HistoryJob {
    pub fn open(config: &Config, registry: &mut Registry) -> Result<Self, StartError> {
        let group = KafkaSource::group(&config.events.deployment);
        let source = Arc::new(KafkaSource::open(&config.kafka, &group, READ_BYTES_MAX)?);
        let quarantine = Arc::new(KafkaQuarantine::open(&config.kafka)?);
        let health = Arc::new(JobHealth::new(source.clone(), quarantine.clone()));
        let (metrics, of_store) = (Metrics::new(source.clone(), registry), storage_cassandra::Metrics::default());
        of_store.register(registry);
        health.register(registry);
        Ok(HistoryJob { config: config.clone(), source, quarantine, health, metrics, of_store })
    }

    fn retention(&self) -> Retention {
        Retention::of(self.config.store.retention)
    }

    fn store(&self) -> Result<CassandraStore, CassandraRefused> {
        CassandraStore::open(&self.config.cassandra, self.retention(), Schema::Make, self.of_store.clone())
    }

    /// On a thread of its own until the drain begins. A store that does not answer is asked again and again: what is
    /// acked waits on the bus.
    pub fn start(self, stop: Stop) -> io::Result<JoinHandle<()>> {
        let runtime = runtime()?;
        spawn("job", move || {
            while !stop.is_draining() {
                match self.store() {
                    Ok(store) => {
                        self.health.succeeded(Step::Opening);
                        return self.run(&runtime, store, &stop);
                    }
                    Err(error) => self.health.failed(Step::Opening, error.to_string()),
                }
                runtime.block_on(async {
                    let _over = tokio::time::timeout(STORE_AGAIN, stop.draining()).await;
                });
            }
        })
    }

    fn run(self, runtime: &tokio::runtime::Runtime, store: CassandraStore, stop: &Stop) {
        let retention = self.retention();
        let HistoryJob { source, quarantine, health, metrics, .. } = self;
        let (source_of_job, store) = (source.clone(), Arc::new(store));
        let job = Job { source: source_of_job, store, quarantine, retention, now: clock::wall, health, metrics };
        runtime.block_on(async {
            tokio::select! {
                () = job.run() => {}
                _ = stop.draining() => {}
            }
        });
        // Commits the offsets of what was written, and leaves the group, so that other jobs get the partitions at once.
        source.close();
    }
}

/// Beside a gateway, if its role has a job.
pub(in super::super) fn build(
    config: &Config,
    role: Role,
    stop: Stop,
    assembly: &mut Assembly,
) -> Result<(), StartError> {
    if role.has_job(config) {
        let job = HistoryJob::open(config, assembly.metrics())?;
        let health = job.health.clone();
        assembly.degraded.push(Box::new(move || health.degraded()));
        assembly.threads.push(Box::new(|| job.start(stop).map(Some)));
    }
    Ok(())
}

/// A process that does nothing else, until a signal.
pub(in super::super) fn serve(config: &Config, signals: &Signals, log: &LogWriter) -> Result<(), StartError> {
    let open = |assembly: &mut Assembly| {
        let job = HistoryJob::open(config, assembly.metrics())?;
        let health = job.health.clone();
        assembly.degraded.push(Box::new(move || health.degraded()));
        Ok((job.store()?, job))
    };
    let run = |(store, job): (CassandraStore, HistoryJob), stop: &Stop| {
        job.run(&runtime()?, store, stop);
        Ok(())
    };
    sockless::serve(config, signals, log, Role::Job, open, run)
}
