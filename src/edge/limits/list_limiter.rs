//! Limits the reads of the store by the lists of one user.
//!
//! A list may read all rows of its user. So a user has one list at a time at this gateway, over sockets and HTTP
//! together, and each row counts against a rate. The number of rows is known only afterwards: a list begins when the
//! earlier lists of the user are paid for, and the next one waits for the rows of this one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use domain::store_reads::Unavailable;
use model::ids::UserId;
use model::rows_read::RowsRead;

/// Users whose lists are counted at a time, some 200 bytes each. When there are so many, the counts of all start anew.
pub const USERS_MAX: usize = 65_536;
/// How long a list of a socket may wait for those before it.
pub const WAIT_MAX: Duration = Duration::from_secs(30);

/// The same for all threads.
pub struct ListLimiter {
    /// The cost of a row.
    row: Duration,
    burst: Duration,
    users: Mutex<HashMap<UserId, Arc<UserLists>>>,
    metrics: Metrics,
}

/// The lists of one user.
struct UserLists {
    running: Arc<Semaphore>,
    /// When all the rows so far are paid for.
    paid: Mutex<Instant>,
}

struct Metrics {
    rows: Counter,
    waits: Histogram,
    refusals: Counter,
}

/// The permit of one list. When it is dropped, its rows are counted and the next list of the user may begin.
pub struct ListPermit {
    limiter: Arc<ListLimiter>,
    lists: Arc<UserLists>,
    rows: RowsRead,
    _running: OwnedSemaphorePermit,
}

impl ListLimiter {
    pub fn new(rows_per_second: u32, burst: u32, registry: &mut Registry) -> Arc<Self> {
        let row = Duration::from_secs(1) / rows_per_second.max(1);
        Arc::new(ListLimiter { row, burst: row * burst, users: Mutex::default(), metrics: Metrics::new(registry) })
    }

    /// The permit for a list, if it is there now; otherwise how long to wait before asking again, as far as is known.
    pub fn try_acquire(self: &Arc<Self>, user: UserId, now: Instant) -> Result<ListPermit, Duration> {
        let lists = self.lists_of(user, now);
        let permit = lists.running.clone().try_acquire_owned().map_err(|_| Duration::ZERO)?;
        let wait = self.wait(&lists, now);
        if wait.is_zero() { Ok(self.permit(lists, permit)) } else { Err(wait) }
    }

    /// The same for a request that cannot wait.
    pub fn acquire_or_refuse(self: &Arc<Self>, user: UserId) -> Result<ListPermit, Duration> {
        self.try_acquire(user, now()).inspect_err(|_| {
            self.metrics.refusals.inc();
        })
    }

    /// The permit for a list when those before it are done and paid for, in the order in which they were asked for; an
    /// error after [`WAIT_MAX`].
    pub async fn acquire(self: Arc<Self>, user: UserId) -> Result<ListPermit, Unavailable> {
        let began = now();
        let permit = timeout(WAIT_MAX, self.next_permit(user)).await;
        self.metrics.waits.observe((now() - began).as_secs_f64());
        permit.map_err(|_| Unavailable)
    }

    async fn next_permit(self: &Arc<Self>, user: UserId) -> ListPermit {
        let lists = self.lists_of(user, now());
        let permit = lists.running.clone().acquire_owned().await.expect("it is never closed");
        loop {
            match self.wait(&lists, now()) {
                Duration::ZERO => return self.permit(lists, permit),
                wait => sleep(wait).await,
            }
        }
    }

    fn lists_of(&self, user: UserId, now: Instant) -> Arc<UserLists> {
        let mut users = self.users();
        if users.len() >= USERS_MAX && !users.contains_key(&user) {
            users.retain(|_, lists| lists.is_under_way() || *lists.paid() > now);
            // Rather than to look through all of them again soon.
            if users.len() > USERS_MAX / 2 {
                users.retain(|_, lists| lists.is_under_way());
            }
        }
        users.entry(user).or_insert_with(|| Arc::new(UserLists::new(now))).clone()
    }

    /// The time until all rows but a burst are paid for.
    fn wait(&self, lists: &UserLists, now: Instant) -> Duration {
        lists.paid().saturating_duration_since(now).saturating_sub(self.burst)
    }

    fn permit(self: &Arc<Self>, lists: Arc<UserLists>, permit: OwnedSemaphorePermit) -> ListPermit {
        ListPermit { limiter: self.clone(), lists, rows: RowsRead::default(), _running: permit }
    }

    fn users(&self) -> MutexGuard<'_, HashMap<UserId, Arc<UserLists>>> {
        self.users.lock()
    }
}

impl UserLists {
    fn new(now: Instant) -> Self {
        UserLists { running: Arc::new(Semaphore::new(1)), paid: Mutex::new(now) }
    }

    /// Whether a list of the user reads or waits. Call it under the lock of all users.
    fn is_under_way(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1
    }

    fn paid(&self) -> MutexGuard<'_, Instant> {
        self.paid.lock()
    }
}

impl ListPermit {
    /// Where the list counts its rows.
    pub fn rows(&self) -> RowsRead {
        self.rows.clone()
    }
}

impl Drop for ListPermit {
    fn drop(&mut self) {
        let rows = self.rows.get();
        self.limiter.metrics.rows.inc_by(rows);
        let cost = self.limiter.row * u32::try_from(rows).unwrap_or(u32::MAX);
        let mut paid = self.lists.paid();
        *paid = (*paid).max(now()) + cost;
    }
}

/// By the clock of the timers that lists wait with.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

impl Metrics {
    fn new(registry: &mut Registry) -> Self {
        let seconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, WAIT_MAX.as_secs_f64()];
        let metrics =
            Metrics { rows: Counter::default(), waits: Histogram::new(seconds), refusals: Counter::default() };
        registry.register("list_rows", "Rows of the hot store that lists of clients looked at", metrics.rows.clone());
        registry.register(
            "list_wait_seconds",
            "Time that lists of sockets waited for other lists of their user, or for their rate",
            metrics.waits.clone(),
        );
        registry.register(
            "list_refusals",
            "Lists over HTTP that were answered 429 for other lists of their user, or for their rate",
            metrics.refusals.clone(),
        );
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: UserId = UserId(42);
    const OTHER: UserId = UserId(7);

    fn limiter(per_second: u32, burst: u32) -> Arc<ListLimiter> {
        ListLimiter::new(per_second, burst, &mut Registry::default())
    }

    /// A list that looks at so many rows.
    fn list(limiter: &Arc<ListLimiter>, user: UserId, rows: u64, now: Instant) -> Result<(), Duration> {
        limiter.try_acquire(user, now).map(|permit| permit.rows().add(rows))
    }

    #[test]
    fn a_list_begins_within_the_burst_and_the_next_one_waits_for_its_rows() {
        let limiter = limiter(1_000, 500);
        let now = Instant::now();
        assert_eq!(list(&limiter, USER, 400, now), Ok(()));
        assert_eq!(list(&limiter, USER, 10_000, now), Ok(()), "what it costs is known afterwards only");
        let wait = list(&limiter, USER, 1, now).expect_err("a wait");
        assert!((9_900..=10_100).contains(&wait.as_millis()), "{wait:?}");
        assert_eq!(list(&limiter, OTHER, 1, now), Ok(()));
        assert_eq!(list(&limiter, USER, 1, now + Duration::from_secs(11)), Ok(()));
    }

    #[test]
    fn a_user_has_one_list_at_a_time() {
        let (limiter, now) = (limiter(1_000, 500), Instant::now());
        let first = limiter.try_acquire(USER, now).expect("a permit");
        assert_eq!(list(&limiter, USER, 1, now), Err(Duration::ZERO));
        assert_eq!(list(&limiter, OTHER, 1, now), Ok(()));
        drop(first);
        assert_eq!(list(&limiter, USER, 1, now), Ok(()));
    }

    #[tokio::test]
    async fn waiting_lists_of_a_user_run_one_after_the_other() {
        let limiter = limiter(1_000, 1);
        let began = Instant::now();
        let lists = (0..4).map(|_| {
            let limiter = limiter.clone();
            async move { limiter.acquire(USER).await.expect("a permit").rows().add(50) }
        });
        futures_util::future::join_all(lists).await;
        // The last one waits for the rows of the three before it, but for the burst.
        assert!(began.elapsed() >= Duration::from_millis(145), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_waits_for_30_s_at_most() {
        let limiter = limiter(1_000, 1);
        let _first = limiter.try_acquire(USER, Instant::now()).expect("a permit");
        let began = tokio::time::Instant::now();
        assert!(limiter.acquire(USER).await.is_err());
        assert_eq!(began.elapsed().as_secs(), 30);
    }

    #[test]
    fn a_full_table_drops_users_that_have_paid_and_keeps_those_with_a_running_list() {
        let (limiter, now) = (limiter(1_000, 1), Instant::now());
        let _reads = limiter.try_acquire(USER, now).expect("a permit");
        for user in 100..100 + USERS_MAX as u64 {
            list(&limiter, UserId(user), 1, now).expect("the first");
        }
        list(&limiter, OTHER, 1, now + Duration::from_secs(1)).expect("the first");
        assert_eq!(list(&limiter, USER, 1, now), Err(Duration::ZERO));
        assert!(limiter.users().len() <= USERS_MAX);
    }
}
