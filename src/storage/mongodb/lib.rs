//! The statistics store in MongoDB: a document for each content, one for each of its months ([`document`]), and one for
//! each key of a derived counter ([`counter_document`]).
//!
//! ```text
//! write  → find the stored months of deleted contents → `update` commands, up to 1,000 documents each
//! totals → find by up to 500 `_id`s                days → find by the `_id`s of the months
//! values → find by up to 500 `_id`s                top  → find by the index `c`, `n` descending, `k`
//! ```
//!
//! **Once.** A statement looks for the document by its `_id` and a lower number of the unit, and changes the sums and
//! the number together ([`changes`]). If the stored number is not lower, MongoDB finds no document, tries to create a
//! second one with that `_id`, and refuses. That refusal shows a repeat.
//!
//! **Durable.** Each write is answered when a majority has it in its journal. Each command requests that, whatever the
//! defaults of the deployment are. An error of any statement, or of the write concern, fails the flight, which is
//! repeated.
//!
//! **Newest.** The primary answers reads, after it has asked a majority whether it is the primary
//! ([`check::Kind::read_concern`]).
//!
//! **Failure.** Every error is [`StatisticsAway`] and may be repeated. Connections are opened when they are needed,
//! even at the start: a store that is away then is checked later. Nothing is written until the check has passed.
//!
//! **Memory.** Each caller writes one flight at a time, as up to four commands of documents.
//!
//! The store removes no document, except those of a generation of counters that is dropped. It needs one index besides
//! that of `_id`: by it the largest numbers of a counter are found ([`check`]).

mod address;
mod changes;
mod check;
mod config;
mod connect;
mod counter_document;
mod counters;
mod document;
mod metrics;
mod owner;
mod read;
mod refused;
mod reply;
mod write;

use std::future::Future;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mongodb::bson::{Document, doc};
use mongodb::options::{Acknowledgment, ReadConcern, ReadPreference, SelectionCriteria, WriteConcern};
use mongodb::{Client, Database};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{OnceCell, oneshot};
use tokio::time::{Instant, timeout};

pub use self::address::mistake;
pub use self::config::MongoConfig;
pub use self::metrics::Metrics;
use self::metrics::Request;
pub use self::owner::Owner;
pub use self::refused::MongoRefused;
use self::refused::{Refusal, describe};

use model::counters::{CounterId, CounterKey};
use model::ids::Content;
use model::rewards::day::Day;
use model::sums::{Flight, StoredTotal, Unit};
use storage::statistics::{Answer, CounterStatistics, Statistics, StatisticsAway, Written};

/// The server's own timeout of a read. It is shorter, so that no read outlasts the gateway's wait for it.
const READ_TIMEOUT: Duration = Request::Totals.timeout().saturating_sub(Duration::from_secs(1));
/// The server's own timeout of the wait for a majority. It is shorter than the gateway's wait for the write.
const WRITE_CONCERN_TIMEOUT: Duration = Request::Write.timeout().saturating_sub(Duration::from_secs(1));

pub struct MongoStatistics {
    shared: Arc<Shared>,
    /// The runtime of the thread that drives the connections.
    runtime: Handle,
    /// Dropping it with the store ends the thread.
    _stop: oneshot::Sender<()>,
}

struct Shared {
    config: MongoConfig,
    deployment: String,
    metrics: Metrics,
    client: OnceCell<Client>,
    usable: OnceCell<Usable>,
}

/// A database that has passed the check.
struct Usable {
    database: Database,
    reads: ReadConcern,
}

impl MongoStatistics {
    /// Opens the store and checks the database, blocking for some seconds at most; a store that is away is checked
    /// later. Connections live on a thread of their own, and are opened again after they were lost.
    ///
    /// `deployment`: the one of the hot store, which numbers the flights.
    pub fn open(config: &MongoConfig, deployment: &str, metrics: Metrics) -> Result<Self, MongoRefused> {
        config.check()?;
        let shared = Arc::new(Shared {
            config: config.clone(),
            deployment: deployment.to_owned(),
            metrics,
            client: OnceCell::new(),
            usable: OnceCell::new(),
        });
        let runtime = Builder::new_current_thread().enable_all().build().map_err(MongoRefused::Process)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let (sender, opened) = std::sync::mpsc::sync_channel(1);
        let checked = shared.clone();
        let run = async move {
            let first = checked.first_check().await;
            drop(checked);
            if sender.send(first).is_ok() {
                let _ = stopped.await;
            }
        };
        let thread = thread::Builder::new().name("mongodb".to_owned());
        thread.spawn(move || runtime.block_on(run)).map_err(MongoRefused::Process)?;
        opened.recv().expect("the thread says how it went")?;
        Ok(MongoStatistics { shared, runtime: handle, _stop: stop })
    }

    /// Runs a request on the thread of the connections.
    fn run<T: Send + 'static>(
        &self,
        answer: impl Future<Output = Result<T, StatisticsAway>> + Send + 'static,
    ) -> Answer<T> {
        let task = self.runtime.spawn(answer);
        Box::pin(async move { task.await.unwrap_or_else(|_| Err(StatisticsAway("it was closed".to_owned()))) })
    }
}

impl Shared {
    async fn first_check(&self) -> Result<(), MongoRefused> {
        match self.checked().await {
            Ok(_) => Ok(()),
            Err(Refusal::Unfit(lines)) => Err(MongoRefused::Unfit(lines)),
            Err(Refusal::Away(why)) => {
                tracing::warn!(event = "mongodb_away", "mongodb is away, and is checked when it is there: {why}");
                Ok(())
            }
        }
    }

    /// The database, which is checked once before its first use.
    async fn usable(&self) -> Result<&Usable, StatisticsAway> {
        match self.usable.get() {
            Some(usable) => Ok(usable),
            None => Ok(self.checked().await?),
        }
    }

    async fn checked(&self) -> Result<&Usable, Refusal> {
        let checked = self.usable.get_or_try_init(|| async {
            let begun = Instant::now();
            let checked = self.check().await;
            self.metrics.requested(Request::Check, checked.is_ok(), begun.elapsed());
            checked
        });
        // Callers that wait for a check of another caller wait no longer than this, too.
        let limit = Request::Check.timeout();
        timeout(limit, checked).await.unwrap_or_else(|_| Err(Refusal::Away(too_long(limit))))
    }

    async fn check(&self) -> Result<Usable, Refusal> {
        let client = self.client.get_or_try_init(|| connect::client(self.config.url.expose())).await?;
        let database = client.database(&self.config.database);
        let kind = check::check(&database, &self.deployment).await?;
        tracing::info!(event = "mongodb_opened", kind = kind.name(), "mongodb opened");
        Ok(Usable { database, reads: kind.read_concern() })
    }

    /// Runs a request with a timeout, and counts it.
    async fn request<T>(
        &self,
        request: Request,
        answer: impl Future<Output = Result<T, String>>,
    ) -> Result<T, StatisticsAway> {
        let (begun, limit) = (Instant::now(), request.timeout());
        let answer = timeout(limit, answer).await.unwrap_or_else(|_| Err(too_long(limit)));
        self.metrics.requested(request, answer.is_ok(), begun.elapsed());
        answer.map_err(StatisticsAway)
    }
}

impl Statistics for MongoStatistics {
    fn write(&self, flight: Arc<Flight>) -> Answer<Written> {
        let shared = self.shared.clone();
        self.run(async move { shared.write(&flight).await })
    }

    fn totals(&self, unit: Unit, contents: Vec<Content>) -> Answer<Vec<StoredTotal>> {
        let shared = self.shared.clone();
        self.run(async move { shared.totals(unit, &contents).await })
    }

    fn days(&self, content: Content, from: Day, to: Day) -> Answer<Vec<(Day, u64)>> {
        let shared = self.shared.clone();
        self.run(async move { shared.days(content, from, to).await })
    }
}

impl CounterStatistics for MongoStatistics {
    fn counter_values(&self, generation: u32, id: CounterId, keys: Vec<CounterKey>) -> Answer<Vec<i64>> {
        let shared = self.shared.clone();
        self.run(async move { shared.counter_values(generation, &id, &keys).await })
    }

    fn counter_top(
        &self,
        generation: u32,
        id: CounterId,
        prefix: CounterKey,
        limit: usize,
    ) -> Answer<Vec<(CounterKey, i64)>> {
        let shared = self.shared.clone();
        self.run(async move { shared.counter_top(generation, &id, &prefix, limit).await })
    }

    fn counter_page(
        &self,
        generation: u32,
        id: CounterId,
        after: Option<CounterKey>,
        limit: usize,
    ) -> Answer<Vec<(CounterKey, i64)>> {
        let shared = self.shared.clone();
        self.run(async move { shared.counter_page(generation, &id, after.as_ref(), limit).await })
    }

    fn drop_generation(&self, generation: u32) -> Answer<()> {
        let shared = self.shared.clone();
        self.run(async move { shared.drop_generation(generation).await })
    }
}

/// Durable in the journals of a majority. `j` is explicit, so that `writeConcernMajorityJournalDefault` does not
/// matter.
fn write_concern() -> Document {
    doc! { "w": "majority", "j": true, "wtimeout": WRITE_CONCERN_TIMEOUT.as_millis() as i64 }
}

/// The same, for requests that the driver has a word for.
fn durably() -> WriteConcern {
    let concern = WriteConcern::builder().w(Acknowledgment::Majority).journal(true);
    concern.w_timeout(WRITE_CONCERN_TIMEOUT).build()
}

/// Only the primary has every answered write.
fn newest() -> SelectionCriteria {
    SelectionCriteria::ReadPreference(ReadPreference::Primary)
}

fn too_long(limit: Duration) -> String {
    format!("no answer within {} s", limit.as_secs())
}
