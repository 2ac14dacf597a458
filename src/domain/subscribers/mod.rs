//! Subscribers, as the control API shows and changes them.
//!
//! Each change is decided on an owner as it was read, and is done if the owner is still the same. Otherwise the owner is read
//! again, and the change is decided on what it is now. Deliveries are made by [`cascade`](super::cascade).

mod cascade_status;
pub mod config;
mod deletion;
mod lease_end;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::notices::Followers;
use super::time::clock::Clock;
pub use cascade_status::CascadeStatus;
use model::counters::CounterId;
use model::subscribers::{
    EndpointRules, EndpointUrl, EventType, Filter, Newer, NoEndpointUrl, Secrets, SigningSecret, Subscriber,
    SubscriberId, Unreadable,
};
use storage::event_bus::BusError;
use storage::event_bus::source::EventArchive;
use storage::owner_queues::{Change, Changed, Dead, Number, Owner, OwnerQueues};
use storage::store_error::{Answer, StoreError};

/// How long an answer of the store may take.
const TIMEOUT: Duration = Duration::from_secs(3);
/// How many times a change is decided before it fails, if others change the owner meanwhile.
const TRIES: usize = 16;
/// Between two tries of one whose outcome is unknown.
const RETRY_AFTER: Duration = Duration::from_millis(50);

/// Why a subscriber cannot be shown or changed.
#[derive(Debug, thiserror::Error)]
pub enum SubscribersError {
    #[error("there is no such subscriber")]
    Missing,
    #[error("since: must not be in the future")]
    Future,
    /// Nothing would ever pass such a filter.
    #[error("filter.{field}[{index}]: there is no {what} {name}; known: {known}")]
    Unknown { field: &'static str, index: usize, what: &'static str, name: String, known: String },
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Trying again may help, and harms nothing.
    #[error("hot store unavailable")]
    Store,
    #[error("event bus unavailable")]
    Bus,
}

/// The definition of a subscriber, as a request gives it.
#[derive(Clone, Debug)]
pub struct Definition {
    pub url: EndpointUrl,
    pub types: Vec<EventType>,
    pub filter: Filter,
    pub batch: u16,
    /// `None`: the present one stays, or one is made.
    pub secret: Option<SigningSecret>,
}

/// A subscriber that was made or replaced.
#[derive(Debug)]
pub struct Put {
    pub owner: Owner,
    pub made: bool,
    /// If it was made here.
    pub secret: Option<SigningSecret>,
}

/// The names that filters may use, by the settings.
#[derive(Clone, Debug, Default)]
pub struct FilterNames {
    /// The names of reward rules.
    pub rules: Vec<String>,
    /// The names of counters of either sort.
    pub counters: Vec<String>,
}

pub struct Subscribers {
    pub queues: Arc<dyn OwnerQueues>,
    /// The archives of all topics.
    pub archive: Arc<dyn EventArchive>,
    pub followers: Arc<Followers>,
    pub rules: EndpointRules,
    pub secret_overlap: Duration,
    pub names: FilterNames,
    pub clock: Arc<Clock>,
    /// Notified when queues may be due.
    pub queued: Arc<Notify>,
    /// Notified when a replay was asked for.
    pub replay_asked: Arc<Notify>,
}

/// The decision on an owner in its present state.
enum Decision {
    Change(Change),
    /// It is as it should be.
    Nothing,
}

impl Subscribers {
    /// An address to which deliveries may go, by the settings.
    pub fn endpoint(&self, url: &str) -> Result<EndpointUrl, NoEndpointUrl> {
        self.rules.endpoint(url)
    }

    pub async fn get(&self, id: &SubscriberId) -> Result<Owner, SubscribersError> {
        let (_, owner) = in_time(self.queues.owner(id.clone())).await?;
        Ok(owner.ok_or(SubscribersError::Missing)??)
    }

    /// In the order of their ids.
    pub async fn list(&self, after: Option<SubscriberId>, limit: usize) -> Result<Vec<Owner>, SubscribersError> {
        in_time(self.queues.owners(after, limit)).await
    }

    /// Whether a cascade brings events to subscribers.
    pub async fn cascade(&self) -> Result<CascadeStatus, SubscribersError> {
        Ok(CascadeStatus::of(in_time(self.queues.looked_at()).await?, self.clock.now()))
    }

    /// Makes it, or replaces it as a whole. A new one gets the events from now on.
    pub async fn put(&self, id: &SubscriberId, definition: Definition) -> Result<Put, SubscribersError> {
        self.names.check(&definition.filter)?;
        let (ends, types) = (bus(self.archive.ends().await)?, definition.types.clone());
        let generated = new_secret();
        let mut made_here = None;
        let changed = self.change(id, |owner| {
            // The secret of one that cannot be read is replaced, too.
            let present = owner.and_then(Result::ok).map(|owner| owner.subscriber.secrets.clone());
            let secrets = match (definition.secret.clone(), present) {
                (Some(given), Some(present)) if *present.newest() == given => present,
                (Some(given), _) => Secrets::new(given),
                (None, Some(present)) => present,
                (None, None) => Secrets::new(generated.clone()),
            };
            made_here = (*secrets.newest() == generated).then(|| generated.clone());
            let Definition { url, types, filter, batch, secret: _ } = definition.clone();
            let subscriber = Arc::new(Subscriber { url, types, filter, batch, secrets, newer: Newer::default() });
            Ok(Decision::Change(Change::Put { subscriber, ends: ends.clone() }))
        });
        let made = matches!(changed.await?, Some(Changed::Done { made: true, .. }));
        self.followers.reached(&types).await.map_err(|error| failed(&error))?;
        self.queued.notify_one();
        Ok(Put { owner: self.get(id).await?, made, secret: made_here })
    }

    /// Its queue goes. No try to deliver begins after this.
    pub async fn delete(&self, id: &SubscriberId) -> Result<(), SubscribersError> {
        deletion::delete(&*self.queues, id).await
    }

    /// No try to deliver begins after this, unless it is resumed.
    pub async fn pause(&self, id: &SubscriberId) -> Result<Owner, SubscribersError> {
        let paused = self.change(id, |owner| existing(owner, Change::Pause)).await?;
        if let Some(Changed::Done { version, leased_for, .. }) = paused {
            lease_end::wait(&*self.queues, id, &Change::Pause, version, leased_for).await?;
        }
        self.get(id).await
    }

    /// It is active, and the next try is made at once.
    pub async fn resume(&self, id: &SubscriberId) -> Result<Owner, SubscribersError> {
        self.change(id, |owner| existing(owner, Change::Resume)).await?;
        self.queued.notify_one();
        self.get(id).await
    }

    /// The new secret. The one before it signs for the overlap.
    pub async fn rotate(&self, id: &SubscriberId) -> Result<SigningSecret, SubscribersError> {
        let secret = new_secret();
        self.change(id, |owner| {
            let owner = owner.ok_or(SubscribersError::Missing)??;
            // It was done, and the answer was lost.
            if *owner.subscriber.secrets.newest() == secret {
                return Ok(Decision::Nothing);
            }
            let until = self.clock.now() + self.secret_overlap.as_millis() as u64;
            let mut subscriber = (*owner.subscriber).clone();
            subscriber.secrets = subscriber.secrets.rotated(secret.clone(), until);
            Ok(Decision::Change(Change::Redefine { subscriber: Arc::new(subscriber) }))
        })
        .await?;
        Ok(secret)
    }

    /// Empties the queue, and fills it with what the log has since that time, milliseconds.
    pub async fn replay(&self, id: &SubscriberId, since: u64) -> Result<Owner, SubscribersError> {
        if since > self.clock.now() {
            return Err(SubscribersError::Future);
        }
        let after = bus(self.archive.before(since).await)?;
        self.change(id, |owner| existing(owner, Change::Replay { after: after.clone() })).await?;
        self.replay_asked.notify_one();
        self.get(id).await
    }

    /// The oldest dead letters after that number.
    pub async fn dead(&self, id: &SubscriberId, after: Number, limit: usize) -> Result<Vec<Dead>, SubscribersError> {
        in_time(self.queues.dead(id.clone(), after, limit)).await?.ok_or(SubscribersError::Missing)
    }

    /// Queues dead letters again. How many these are.
    pub async fn resend(&self, id: &SubscriberId) -> Result<u64, SubscribersError> {
        let resent = in_time(self.queues.resend(id.clone())).await?.ok_or(SubscribersError::Missing)?;
        self.queued.notify_one();
        Ok(resent)
    }

    /// Decides until nobody else was faster. Every decision may be repeated.
    async fn change(
        &self,
        id: &SubscriberId,
        mut decide: impl FnMut(Option<Result<&Owner, Unreadable>>) -> Result<Decision, SubscribersError>,
    ) -> Result<Option<Changed>, SubscribersError> {
        let until = Instant::now() + TIMEOUT;
        for _ in 0..TRIES {
            let (version, owner) = in_time(self.queues.owner(id.clone())).await?;
            let found = owner.as_ref().map(|found| found.as_ref().map_err(|unreadable| *unreadable));
            let Decision::Change(change) = decide(found)? else { return Ok(None) };
            match in_time(self.queues.change(id.clone(), version, change)).await {
                Ok(Changed::Moved(_)) => {}
                Ok(Changed::Missing { .. }) => return Err(SubscribersError::Missing),
                Ok(done) => return Ok(Some(done)),
                // Done or not: the next decision sees which.
                Err(error) if Instant::now() > until => return Err(error),
                Err(_) => sleep(RETRY_AFTER).await,
            }
        }
        Err(SubscribersError::Store)
    }
}

impl FilterNames {
    fn check(&self, filter: &Filter) -> Result<(), SubscribersError> {
        check_names("rules", "reward rule", filter.rules.iter().map(String::as_str), &self.rules)?;
        check_names("counters", "counter", filter.counters.iter().map(CounterId::as_str), &self.counters)
    }
}

fn check_names<'a>(
    field: &'static str,
    what: &'static str,
    names: impl Iterator<Item = &'a str>,
    known: &[String],
) -> Result<(), SubscribersError> {
    let unknown = names.enumerate().find(|(_, name)| !known.iter().any(|known| known == name));
    let Some((index, name)) = unknown else { return Ok(()) };
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Err(SubscribersError::Unknown { field, index, what, name: name.to_owned(), known })
}

fn existing(owner: Option<Result<&Owner, Unreadable>>, change: Change) -> Result<Decision, SubscribersError> {
    owner.ok_or(SubscribersError::Missing)??;
    Ok(Decision::Change(change))
}

fn new_secret() -> SigningSecret {
    SigningSecret::of(rand::random::<[u8; SigningSecret::BYTES]>().to_vec()).expect("it is long enough")
}

async fn in_time<T>(answer: Answer<T>) -> Result<T, SubscribersError> {
    match timeout(TIMEOUT, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(failed(&error)),
        Err(_) => {
            tracing::warn!(event = "subscribers_failed", timeout_seconds = TIMEOUT.as_secs(), "subscribers timed out");
            Err(SubscribersError::Store)
        }
    }
}

fn failed(error: &StoreError) -> SubscribersError {
    tracing::warn!(event = "subscribers_failed", %error, "subscribers cannot be read or changed");
    SubscribersError::Store
}

fn bus<T>(answer: Result<T, BusError>) -> Result<T, SubscribersError> {
    answer.map_err(|error| {
        tracing::warn!(event = "subscribers_failed", %error, "the event bus cannot be asked");
        SubscribersError::Bus
    })
}
