//! The history store in Cassandra or ScyllaDB, a user's rows in one partition ([`table`]).
//!
//! ```text
//! write → for each user an unlogged batch: rows up to the watermark go, static columns, rows → answered by a quorum
//! read  → the partition, in pages → what is under the watermark or past the horizon is left out
//! ```
//!
//! **Versions.** The write timestamp is the version, so Cassandra itself lets the newest win ([`statements`]).
//!
//! **Expiry.** By a TTL that counts from the moments in the row ([`lifetime`]), so a pack that is read late, or again,
//! keeps nothing longer.
//!
//! **Failure.** Every error is [`HistoryAway`] and may be repeated. Lost connections are opened again by the driver.
//!
//! **Memory.** [`REQUESTS_MAX`] requests at a time, of at most 32 KiB each; beside that what the callers hand over.

mod connect;
mod keyspace;
mod lifetime;
mod metrics;
mod read;
mod refused;
mod statements;
mod table;
mod write;

use std::future::Future;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use scylla::client::session::Session;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Semaphore, oneshot};

pub use self::metrics::Metrics;
pub use self::refused::CassandraRefused;
use self::statements::Statements;
use model::ids::UserId;
use model::pack::UserPack;
use model::retention::Retention;
use storage::config::cassandra::CassandraConfig;
use storage::history_store::{Answer, HistoryAway, HistoryStore, HistoryUser};

/// Requests in flight. A node takes 1,024 on a connection, but beyond some hundred they only wait there.
const REQUESTS_MAX: usize = 256;
/// The timeout for all pages of a user.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// How a missing keyspace or table is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    /// It is created.
    Make,
    /// It is an error.
    Find,
}

pub struct CassandraStore {
    shared: Arc<Shared>,
    /// The runtime of the thread that drives the connections.
    runtime: Handle,
    /// Dropped with the store: the thread ends.
    _stop: oneshot::Sender<()>,
}

struct Shared {
    session: Session,
    statements: Statements,
    retention: Retention,
    requests: Semaphore,
    metrics: Metrics,
}

impl CassandraStore {
    /// Connects, and checks what is there. Blocks for some seconds if there is no server. The connections live on a
    /// thread of their own, and are opened again when they are lost.
    pub fn open(
        config: &CassandraConfig,
        retention: Retention,
        schema: Schema,
        metrics: Metrics,
    ) -> Result<Self, CassandraRefused> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(CassandraRefused::Process)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let (sender, opened) = std::sync::mpsc::sync_channel(1);
        let config = config.clone();
        let run = async move {
            let shared = Shared::open(&config, retention, schema, metrics).await;
            if sender.send(shared.map(Arc::new)).is_ok() {
                let _ = stopped.await;
            }
        };
        let thread = thread::Builder::new().name("cassandra".to_owned());
        thread.spawn(move || runtime.block_on(run)).map_err(CassandraRefused::Process)?;
        let shared = opened.recv().expect("the thread says how it went")?;
        tracing::info!(event = "cassandra_opened", "cassandra opened");
        Ok(CassandraStore { shared, runtime: handle, _stop: stop })
    }

    /// On the thread of the connections.
    fn run<T: Send + 'static>(
        &self,
        answer: impl Future<Output = Result<T, HistoryAway>> + Send + 'static,
    ) -> Answer<T> {
        let task = self.runtime.spawn(answer);
        Box::pin(async move { task.await.unwrap_or_else(|_| Err(HistoryAway("it was closed".to_owned()))) })
    }
}

impl Shared {
    async fn open(
        config: &CassandraConfig,
        retention: Retention,
        schema: Schema,
        metrics: Metrics,
    ) -> Result<Self, CassandraRefused> {
        let session = connect::connect(config, schema).await?;
        let statements = Statements::prepare(&session, &config.keyspace).await;
        let statements =
            statements.map_err(|error| CassandraRefused::unfit(format!("Cassandra refuses a statement: {error}")))?;
        let requests = Semaphore::new(REQUESTS_MAX);
        Ok(Shared { session, statements, retention, requests, metrics })
    }
}

impl HistoryStore for CassandraStore {
    fn write(&self, users: Arc<[UserPack]>, retention: Option<Retention>, now: u64) -> Answer<()> {
        let shared = self.shared.clone();
        let retention = retention.map_or(shared.retention, |retention| retention.max(shared.retention));
        self.run(async move { shared.write(&users, retention, now).await })
    }

    fn read(&self, user: UserId, now: u64) -> Answer<HistoryUser> {
        let shared = self.shared.clone();
        self.run(async move { shared.read(user, now).await })
    }
}
