//! View counts of contents: in total, and by day.

use futures_util::future::BoxFuture;

use super::statistics::StatisticsAway;
use super::store_error::StoreError;
use model::ids::{Content, UserId};
use model::rewards::day::Day;
use model::view::{View, ViewDays, Viewed};

pub type Answer<T> = BoxFuture<'static, Result<T, ViewsError>>;

/// Errors of counting or reading views.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ViewsError {
    #[error(transparent)]
    Hot(#[from] StoreError),
    #[error(transparent)]
    Statistics(#[from] StatisticsAway),
}

/// Counts views.
///
/// *Atomic.* The total of a content, its day and the mark of the session change together. *Durable* once answered.
/// *Once.* A session of a user that was counted in a content today or yesterday is not counted there again. After an
/// error, the view may or may not be counted; with its session it may be sent again.
///
/// Reads see every view that was answered before they were asked, with one exception: days may lag by the interval at
/// which sums are written to the statistics store.
///
/// All methods may be called from any thread. Dropping a future leaves the outcome unknown.
pub trait Views: Send + Sync + 'static {
    fn count(&self, view: View) -> Answer<Viewed>;

    /// The totals in the order asked, 0 for a content without views; `None`: currently unknown.
    fn totals(&self, contents: Vec<Content>) -> Answer<Vec<Option<u64>>>;

    /// The total, and the days from `from` to `to`, both included.
    fn days(&self, content: Content, from: Day, to: Day) -> Answer<ViewDays>;

    /// Removes the total and all days. Views counted before do not come back; a view counted afterwards starts at one.
    /// Sessions that were counted stay marked.
    fn delete(&self, content: Content) -> Answer<()>;

    /// Removes the marks of the user's sessions that are in force on `today`. Totals and days stay as they are.
    fn forget(&self, user: UserId, today: Day) -> Answer<()>;
}
