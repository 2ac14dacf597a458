//! View counts of contents.

pub mod config;
mod metrics;

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::registry::Registry;

use self::config::{CountedBy, ViewsConfig};
use self::metrics::{Metrics, Operation};
use super::rewards::metrics::ViewsByPlayback;
use super::rewards::today::Today;
use super::time::clock::Clock;
use model::ids::{Content, SessionId, UserId};
use model::rewards::day::Day;
use model::view::{View, ViewDays, Viewed};
use storage::views::{Views, ViewsError};

/// The timeout of an answer. After it the caller is told to try again.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The store did not answer, or not in time. A view with a session may be sent again.
#[derive(Debug, thiserror::Error)]
pub enum ViewsUnavailable {
    #[error("hot store unavailable")]
    Hot,
    #[error("statistics store unavailable")]
    Statistics,
    #[error("views are not answered in time")]
    Late,
}

/// Counts views of the configured kinds.
pub struct ViewCounting {
    config: ViewsConfig,
    store: Arc<dyn Views>,
    clock: Arc<Clock>,
    today: Arc<Today>,
    metrics: Metrics,
}

impl ViewCounting {
    pub fn new(
        config: ViewsConfig,
        store: Arc<dyn Views>,
        clock: Arc<Clock>,
        today: Arc<Today>,
        registry: &mut Registry,
    ) -> Self {
        ViewCounting { config, store, clock, today, metrics: Metrics::new(registry) }
    }

    /// Whether views of this kind are counted.
    pub fn counts(&self, kind: u16) -> bool {
        self.config.counted_by(kind).is_some()
    }

    /// The counters for views by playback, which commits of beats increment.
    pub fn by_playback(&self) -> ViewsByPlayback {
        self.metrics.by_playback.clone()
    }

    /// Whether totals are readable without a token.
    pub fn is_public(&self) -> bool {
        self.config.public
    }

    pub fn today(&self) -> Day {
        self.today.day(self.clock.now())
    }

    /// Counts a view by request, on the current day. For a content that is counted by playback, it only returns the
    /// total.
    pub async fn count(
        &self,
        user: UserId,
        content: Content,
        session: Option<SessionId>,
    ) -> Result<Viewed, ViewsUnavailable> {
        if self.config.counted_by(content.kind) == Some(CountedBy::Playback) {
            return self.uncounted(content).await;
        }
        let view = View { user, content, session, day: self.today() };
        let viewed = self.in_time(Operation::Count, self.store.count(view)).await?;
        self.metrics.viewed(viewed.counted);
        Ok(viewed)
    }

    /// The answer to a view that does not count: the total as it is.
    pub async fn uncounted(&self, content: Content) -> Result<Viewed, ViewsUnavailable> {
        let total = self.totals(vec![content]).await?.pop().flatten();
        Ok(Viewed { counted: false, total })
    }

    /// The totals in the order asked; `None`: currently unknown.
    pub async fn totals(&self, contents: Vec<Content>) -> Result<Vec<Option<u64>>, ViewsUnavailable> {
        self.in_time(Operation::Totals, self.store.totals(contents)).await
    }

    /// The total, and the days from `from` to `to`, both included.
    pub async fn days(&self, content: Content, from: Day, to: Day) -> Result<ViewDays, ViewsUnavailable> {
        self.in_time(Operation::Days, self.store.days(content, from, to)).await
    }

    /// Removes total and days.
    pub async fn delete(&self, content: Content) -> Result<(), ViewsUnavailable> {
        self.in_time(Operation::Delete, self.store.delete(content)).await
    }

    /// Removes the marks of an erased user's sessions.
    pub async fn forget(&self, user: UserId) -> Result<(), ViewsUnavailable> {
        self.in_time(Operation::Forget, self.store.forget(user, self.today())).await
    }

    async fn in_time<T>(
        &self,
        operation: Operation,
        answer: impl Future<Output = Result<T, ViewsError>>,
    ) -> Result<T, ViewsUnavailable> {
        let measured = self.metrics.begin(operation);
        let answer = tokio::time::timeout(TIMEOUT, answer).await;
        measured.observe();
        let (unavailable, why) = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(ViewsError::Hot(error))) => (ViewsUnavailable::Hot, error.to_string()),
            Ok(Err(ViewsError::Statistics(away))) => (ViewsUnavailable::Statistics, away.to_string()),
            Err(_) => (ViewsUnavailable::Late, format!("no answer within {} s", TIMEOUT.as_secs())),
        };
        tracing::warn!(event = "views_failed", operation = operation.name(), error = %why, "views unavailable");
        self.metrics.failed(operation);
        Err(unavailable)
    }
}
