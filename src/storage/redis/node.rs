//! One master, and the connections to it.
//!
//! A keeper opens the connections, checks the server, and publishes them only then. It checks again every second, with a
//! write ([`probe`]), and opens new connections when they are lost. So no request goes to a server that was not checked since it was
//! connected.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::{RedisError, ServerError};
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio::time::sleep;

use super::address::Address;
use super::deployment;
use super::dial;
use super::probe;
use super::refused::RefusalCause;
use super::swap;
use super::terms::Terms;
use model::backoff::Backoff;
use model::shard::Shard;
use storage::store_error::StoreError;

const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Shards whose deployment keys are checked every second. Several, since some may be on their way to another node.
const LOOK_SHARDS: usize = 8;
const RETRY_FIRST: Duration = Duration::from_millis(50);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// Pipelines of reads in flight; more wait for their turn.
const READS_MAX: usize = 256;
/// Pipelines of scripts in flight.
const COMMITS_MAX: usize = 16;

pub(super) struct Node {
    pub address: Address,
    state: Mutex<State>,
    pub reads: Semaphore,
    pub commits: Semaphore,
}

struct State {
    link: Option<Arc<Link>>,
    /// Why there is no link.
    trouble: RefusalCause,
}

/// Checked connections to one server: reads have their own, so that large answers do not delay those of commits.
pub(super) struct Link {
    pub commits: MultiplexedConnection,
    pub reads: MultiplexedConnection,
    /// The hashes of the scripts that were loaded into this server. The first call of a script loads it while other
    /// calls wait: a later call that found it loaded would overtake the first.
    pub scripts: tokio::sync::Mutex<HashSet<String>>,
    /// Whether the server can [swap](swap::Swap), once it is known.
    can_swap: OnceLock<bool>,
    /// Why the server takes no writes. It answers reads.
    refuses: Mutex<Option<String>>,
    /// Why the link must not be used any more.
    lost: OnceLock<RefusalCause>,
    wake: Notify,
}

impl Link {
    pub fn can_swap(&self) -> bool {
        self.can_swap.get().is_some_and(|can_swap| *can_swap)
    }

    /// Finds out whether the server can swap, unless that is known.
    async fn try_swap(&self, address: &Address, shards: &[Shard]) -> Result<(), RefusalCause> {
        if self.can_swap.get().is_some() {
            return Ok(());
        }
        let found = swap::is_known(&mut self.commits.clone(), shards).await;
        let Some(can_swap) = found.map_err(|error| dial::trouble(address, &error))? else { return Ok(()) };
        if self.can_swap.set(can_swap).is_ok() {
            let with = if can_swap { "SET IFEQ" } else { "a script" };
            tracing::info!(event = "redis_write_method", node = %address, with, "how steady beats are compared and written");
        }
        Ok(())
    }

    /// Keeps whether the server takes writes, and logs when that changes.
    fn takes(&self, address: &Address, refusal: Option<String>) {
        let mut refuses = self.refuses.lock();
        match (&*refuses, &refusal) {
            (None, Some(reason)) => {
                tracing::error!(event = "redis_refuses", node = %address, reason, "redis takes no writes; acks suspended");
            }
            (Some(_), None) => tracing::info!(event = "redis_takes", node = %address, "redis takes writes again"),
            _ => {}
        }
        *refuses = refusal;
    }

    /// Gives the link up: the keeper opens another one.
    pub fn lose(&self, trouble: RefusalCause) {
        if self.lost.set(trouble).is_ok() {
            self.wake.notify_one();
        }
    }

    /// Handles a call without an answer. It may have been done or not, and so may all others in flight on this
    /// connection.
    pub fn failed(&self, address: &Address, error: &RedisError) -> StoreError {
        let trouble = dial::trouble(address, error);
        let away = StoreError::Away(trouble.text());
        self.lose(trouble);
        away
    }

    /// Handles a call that was answered with an error. It was not done, or not to its end; other calls are not
    /// affected. The keeper checks the server again.
    pub fn refused(&self, address: &Address, error: &ServerError) -> StoreError {
        self.wake.notify_one();
        StoreError::Away(format!("{address}: {}", dial::text(&error.clone().into())))
    }
}

impl Node {
    pub fn new(address: Address) -> Arc<Self> {
        let trouble = RefusalCause::Away(format!("{address}: not connected yet"));
        Arc::new(Node {
            address,
            state: Mutex::new(State { link: None, trouble }),
            reads: Semaphore::new(READS_MAX),
            commits: Semaphore::new(COMMITS_MAX),
        })
    }

    pub fn link(&self) -> Result<Arc<Link>, StoreError> {
        let state = self.state();
        match &state.link {
            Some(link) => match link.lost.get() {
                None => Ok(link.clone()),
                Some(trouble) => Err(StoreError::Away(trouble.text())),
            },
            None => Err(StoreError::Away(state.trouble.text())),
        }
    }

    pub fn is_up(&self) -> bool {
        self.state().link.as_ref().is_some_and(|link| link.lost.get().is_none())
    }

    pub fn takes_writes(&self) -> bool {
        let state = self.state();
        state.link.as_ref().is_some_and(|link| link.lost.get().is_none() && link.refuses.lock().is_none())
    }

    /// Why it takes no writes; `None`: it does.
    pub fn trouble(&self) -> Option<String> {
        let state = self.state();
        let Some(link) = &state.link else { return Some(state.trouble.text()) };
        link.lost.get().map(RefusalCause::text).or_else(|| link.refuses.lock().clone())
    }

    fn state(&self) -> parking_lot::MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Withdraws the link for good.
    pub fn leave(&self, terms: &Terms) {
        let trouble = RefusalCause::Away(format!("{} has no shards now", self.address));
        let mut state = self.state();
        state.trouble = trouble.clone();
        if let Some(link) = state.link.take() {
            link.lose(trouble);
            terms.metrics.connected(-1);
        }
        terms.metrics.memory(&self.address, None);
    }

    /// Connects and checks what was found, `shards` of which are this server's.
    pub async fn open(&self, terms: &Terms, shards: &[Shard]) -> Result<Arc<Link>, RefusalCause> {
        let mut commits = dial::server(&terms.target, &self.address).await?;
        let mut reads = dial::server(&terms.target, &self.address).await?;
        // Behind one address there may be several servers, and one may be another the next moment.
        for connection in [&mut commits, &mut reads] {
            self.check(terms, connection, shards).await?;
        }
        let (scripts, can_swap, refuses, lost, wake) = Default::default();
        let link = Link { commits, reads, scripts, can_swap, refuses, lost, wake };
        link.try_swap(&self.address, shards).await?;
        Ok(Arc::new(link))
    }

    async fn check(
        &self,
        terms: &Terms,
        connection: &mut MultiplexedConnection,
        shards: &[Shard],
    ) -> Result<(), RefusalCause> {
        terms.fit(&self.address, connection).await?;
        let marks = dial::marks(connection, &self.address, shards).await?;
        if marks.is_empty() && !shards.is_empty() {
            return Err(RefusalCause::Away(format!("{} has none of its shards any more", self.address)));
        }
        let agreed = deployment::agreed(&marks, terms.deployment.get());
        let agreed = agreed.map_err(|wrong| RefusalCause::unfit(format!("{} {wrong}", self.address)))?;
        match agreed {
            Some(found) if terms.deployment.get_or_init(|| found.clone()) != &found => {
                Err(RefusalCause::Away(format!("{} is being checked again", self.address)))
            }
            _ => Ok(()),
        }
    }

    /// Keeps the connections up for as long as it is polled. `opened`: a link that is in use already.
    pub async fn keep(self: Arc<Self>, terms: Arc<Terms>, mut opened: Option<Arc<Link>>) {
        let mut backoff = Backoff::new(RETRY_FIRST, RETRY_MAX);
        loop {
            let link = match opened.take() {
                Some(link) => Ok(link),
                None => {
                    let link = self.open(&terms, &terms.shards_of(&self.address)).await;
                    link.inspect(|link| self.arrive(&terms, link.clone()))
                }
            };
            let trouble = match link {
                Ok(link) => {
                    backoff.succeeded();
                    self.stay(&terms, &link).await
                }
                Err(trouble) => trouble,
            };
            self.miss(&terms, trouble);
            // Not all gateways at the same moment.
            sleep(backoff.failed_with_jitter(rand::random())).await;
        }
    }

    /// Publishes the link: requests use it from now on.
    pub fn arrive(&self, terms: &Terms, link: Arc<Link>) {
        self.state().link = Some(link);
        terms.metrics.connected(1);
        tracing::info!(event = "redis_connected", node = %self.address, "redis connected");
    }

    fn miss(&self, terms: &Terms, trouble: RefusalCause) {
        let (had, before) = {
            let mut state = self.state();
            (state.link.take(), std::mem::replace(&mut state.trouble, trouble.clone()))
        };
        if had.is_some() {
            terms.metrics.connected(-1);
            terms.metrics.lost.inc();
        }
        terms.metrics.memory(&self.address, None);
        // Where the shards are may have changed with it.
        terms.look.notify_one();
        if had.is_none() && before == trouble {
            return;
        }
        match &trouble {
            RefusalCause::Away(reason) => {
                tracing::error!(event = "redis_unavailable", node = %self.address, reason, "redis unavailable; retrying");
            }
            RefusalCause::Rewriting(reason) => {
                tracing::error!(
                    event = "redis_not_durable",
                    node = %self.address,
                    reason,
                    "redis is not durable yet; commits to it suspended"
                );
            }
            RefusalCause::Unfit(lines) => {
                for reason in lines {
                    tracing::error!(
                        event = "redis_unfit",
                        node = %self.address,
                        reason,
                        "redis does not meet the requirements; commits to it suspended"
                    );
                }
            }
        }
    }

    /// Checks the server every second, until a check fails.
    async fn stay(&self, terms: &Terms, link: &Link) -> RefusalCause {
        loop {
            match probe::write(&mut link.commits.clone(), &self.address, &terms.shards_of(&self.address)).await {
                Ok(refusal) => link.takes(&self.address, refusal),
                Err(trouble) => link.lose(trouble),
            }
            let notified = tokio::select! {
                () = link.wake.notified() => true,
                () = sleep(LOOK_INTERVAL) => false,
            };
            if let Some(trouble) = link.lost.get() {
                return trouble.clone();
            }
            let mut shards = terms.shards_of(&self.address);
            if !notified {
                // Enough to see that all is gone; scripts look at the key of their own shard.
                let apart = shards.len().div_ceil(LOOK_SHARDS).max(1);
                shards = shards.into_iter().step_by(apart).collect();
            }
            for connection in [&mut link.commits.clone(), &mut link.reads.clone()] {
                if let Err(trouble) = self.check(terms, connection, &shards).await {
                    link.lose(trouble.clone());
                    return trouble;
                }
            }
            if let Err(trouble) = link.try_swap(&self.address, &shards).await {
                link.lose(trouble.clone());
                return trouble;
            }
        }
    }
}
