//! Reads of the hot store, with a timeout and metrics.

use std::future::Future;
use std::time::{Duration, Instant};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use storage::hot_store::StoreError;

/// How long a read may take before its asker is told to try again.
pub const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// The store did not answer, or not in time. Asking again may help.
#[derive(Debug, thiserror::Error)]
#[error("hot store unavailable")]
pub struct Unavailable;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    read: &'static str,
}

/// One sort of read.
#[derive(Clone)]
pub struct StoreRead {
    name: &'static str,
    seconds: Histogram,
    failures: Counter,
}

/// Every sort of read, each with metrics of its own.
#[derive(Clone)]
pub struct StoreReads {
    pub get: StoreRead,
    pub list: StoreRead,
    pub recording: StoreRead,
    /// The read at connect.
    pub user_status: StoreRead,
    pub claims: StoreRead,
}

impl StoreReads {
    pub fn new(registry: &mut Registry) -> Self {
        let seconds = Family::<Labels, Histogram, _>::new_with_constructor(histogram as fn() -> Histogram);
        let failures = Family::<Labels, Counter>::default();
        let read = |name| StoreRead {
            name,
            seconds: seconds.get_or_create_owned(&Labels { read: name }),
            failures: failures.get_or_create_owned(&Labels { read: name }),
        };
        let reads = StoreReads {
            get: read("get"),
            list: read("list"),
            recording: read("recording"),
            user_status: read("user_status"),
            claims: read("claims"),
        };
        registry.register("store_read_seconds", "Time to read from the hot store, failed reads included", seconds);
        registry.register("store_read_failures", "Reads of the hot store that failed or took too long", failures);
        reads
    }
}

impl StoreRead {
    pub async fn in_time<T>(&self, answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, Unavailable> {
        let began = Instant::now();
        let answer = tokio::time::timeout(READ_TIMEOUT, answer).await;
        self.seconds.observe(began.elapsed().as_secs_f64());
        match answer {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => {
                tracing::warn!(event = "store_read_failed", read = self.name, %error, "store read failed")
            }
            Err(_) => {
                let timeout_seconds = READ_TIMEOUT.as_secs();
                tracing::warn!(event = "store_read_failed", read = self.name, timeout_seconds, "store read timed out");
            }
        }
        self.failures.inc();
        Err(Unavailable)
    }
}

/// From 0.1 ms to the timeout.
fn histogram() -> Histogram {
    Histogram::new([0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 3.0])
}
