//! The hot store of a gateway that has none: history services keep everything, and decide.
//!
//! ```text
//! committers: a group per lane ─▶ parcels ─▶ one call per service ─▶ history service: its own groups, its store
//! reads ────────────────────────────────────────────────────────▶
//! channel ◀─ what other gateways changed ─ stream of each service
//! ```
//!
//! A lane is a share of the users, and has one service ([`placement`]). A service that does not answer loses its lanes to
//! the others; so does one that drains, or whose own store is away. What was under way is committed again, wherever the lane is by then: a change that
//! was done already changes nothing, and is answered with success.

mod announcing;
mod bearer;
mod channel;
mod commits;
mod content_names;
mod forwarding;
mod lanes;
mod link;
mod lookup;
mod metrics;
mod names;
mod parcels;
mod parts;
mod placement;
mod reads;
mod revocation_list;
mod reward_decisions;
mod service;
mod services;

use std::collections::BTreeMap;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use prometheus_client::registry::Registry;
use tokio::runtime::{Builder, Handle};
use tokio::time::timeout;

use self::bearer::Bearer;
pub use self::bearer::Tokens;
pub use self::channel::RemoteChannel;
pub use self::content_names::RemoteContentNames;
use self::lanes::{LANES, lane_of};
pub use self::names::RemoteNames;
use self::parcels::Parcel;
use self::parts::Parts;
pub use self::revocation_list::RemoteList;
use self::services::{First, Services};
use model::ids::{Content, GatewayId, UserId};
use model::page::{Page, PageRequest};
use model::recording::Switch;
use model::rows_read::RowsRead;
use model::shard::Shard;
use storage::agreed_settings::Difference;
use storage::config::history_service::{HistoryServiceConfig, UnreadableAuthorities};
use storage::device_channel::ChannelSubscriber;
use storage::gateway_messages::changes;
use storage::hot_store::{Answer, Committed, Found, Group, Positions, StoreError};

/// How long the start waits for the first service.
const FIRST_MAX: Duration = Duration::from_secs(10);

/// Cheap to clone.
#[derive(Clone)]
pub struct RemoteStore {
    services: Arc<Services>,
    /// The runtime of the thread that has the connections.
    runtime: Handle,
    parts: Arc<Parts>,
}

/// Why there is no store to begin with.
#[derive(Debug, thiserror::Error)]
pub enum RemoteRefused {
    #[error(transparent)]
    Authorities(#[from] UnreadableAuthorities),
    #[error("a history service refuses this gateway: {0}; check history_service.token")]
    Refused(String),
    #[error("no history service answers: {0}")]
    Away(String),
    #[error("{}; set them as the history services have them", Difference::joined(.0))]
    Differs(Vec<Difference>),
    #[error(transparent)]
    Process(#[from] io::Error),
}

impl RemoteRefused {
    /// Codes of `sysexits.h`.
    pub fn exit_code(&self) -> u8 {
        match self {
            RemoteRefused::Authorities(_) => 66,
            RemoteRefused::Refused(_) => 77,
            RemoteRefused::Away(_) => 69,
            RemoteRefused::Differs(_) => 78,
            RemoteRefused::Process(_) => 71,
        }
    }
}

impl RemoteStore {
    /// Connects to the services on a thread of its own, and waits for the first one. `tokens`: see
    /// [`HistoryServiceConfig::token`]. `settings`: those that must equal the services' settings, values as text.
    pub fn open(
        config: &HistoryServiceConfig,
        tokens: Tokens,
        settings: BTreeMap<String, String>,
    ) -> Result<Self, RemoteRefused> {
        let authorities = config.authorities()?;
        let services = Services::new(GatewayId(rand::random()), Bearer::new(tokens), authorities, settings);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let store =
            RemoteStore { services: services.clone(), runtime: runtime.handle().clone(), parts: Arc::default() };
        let (mut first, addresses) = (services.first.subscribe(), config.addresses.clone());
        let (sender, answered) = std::sync::mpsc::sync_channel(1);
        thread::Builder::new().name("services".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::spawn(async move {
                    let settled = first.wait_for(|first| !matches!(first, First::Unknown | First::Away(_)));
                    let _late = timeout(FIRST_MAX, settled).await.is_err();
                    let _ = sender.send(first.borrow().clone());
                });
                lookup::follow(services, addresses).await;
            });
        })?;
        match answered.recv().unwrap_or_default() {
            First::Connected => Ok(store),
            First::Refused(why) => Err(RemoteRefused::Refused(why)),
            First::Differs(differences) => Err(RemoteRefused::Differs(differences)),
            First::Away(why) => Err(RemoteRefused::Away(why)),
            First::Unknown => Err(RemoteRefused::Away("history_service.addresses have no address".to_owned())),
        }
    }

    /// From now on this hears what other gateways change.
    pub fn subscribe(&self, subscriber: Arc<dyn ChannelSubscriber>) {
        *self.services.subscriber.lock() = Some(subscriber.clone());
        // Earlier announcements are not repeated.
        subscriber.connected();
    }

    /// Resolves to the differences once a service has other settings.
    pub fn overruled(&self) -> impl Future<Output = Vec<Difference>> + Send + use<> {
        let mut overruled = self.services.overruled.subscribe();
        async move {
            let differs = overruled.wait_for(|differences| !differences.is_empty()).await.map(|found| found.clone());
            match differs {
                Ok(differences) => differences,
                // The services are gone, and so is the process soon.
                Err(_) => pending().await,
            }
        }
    }

    pub fn register(&self, registry: &mut Registry) {
        self.services.metrics.register(registry);
    }

    pub fn follow(&self, user: UserId) {
        self.services.lanes.follow(user);
    }

    pub fn unfollow(&self, user: UserId) {
        self.services.lanes.unfollow(user);
    }

    /// Sends the changes that are not answered yet, and keeps the answers that come.
    async fn send(&self, group: &Group, answers: &mut parts::Answers) -> Result<(), StoreError> {
        let mut of_services: Vec<(Arc<service::Service>, Vec<usize>)> = Vec::new();
        let mut error = None;
        for index in answers.missing() {
            let Some(service) = self.services.lanes.of(group.changes[index].user) else {
                error = Some(nowhere());
                continue;
            };
            match of_services.iter_mut().find(|(other, _)| Arc::ptr_eq(other, &service)) {
                Some((_, indexes)) => indexes.push(index),
                None => of_services.push((service, vec![index])),
            }
        }
        let mut calls = Vec::new();
        for (service, indexes) in of_services {
            let encoded = indexes.iter().map(|index| changes::encode(&group.changes[*index], &group.senders[*index]));
            let mut indexes = indexes.iter().copied().collect::<std::collections::VecDeque<_>>();
            for (parcel, answered) in Parcel::pack(encoded.collect()) {
                let of_parcel: Vec<usize> = indexes.drain(..parcel.len()).collect();
                service.send(parcel);
                calls.push(answered.map(move |answered| (of_parcel, answered)));
            }
        }
        for (indexes, answered) in join_all(calls).await {
            match answered.unwrap_or_else(|_| Err(StoreError::Away("history service lost".to_owned()))) {
                Ok(sent) => error = answers.take(&group.changes, indexes, sent).err().or(error),
                Err(away) => error = Some(away),
            }
        }
        error.map_or(Ok(()), Err)
    }
}

impl Positions for RemoteStore {
    fn commit<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Committed, StoreError>> {
        Box::pin(async move {
            let mut answers = self.parts.of(group);
            let sent = self.send(group, &mut answers).await;
            if answers.missing().next().is_none() {
                return Ok(answers.committed(&group.changes));
            }
            self.parts.keep(group, answers);
            Err(sent.err().unwrap_or_else(|| StoreError::Away("the store of a history service is away".to_owned())))
        })
    }

    fn lanes(&self) -> usize {
        LANES
    }

    fn lane(&self, shard: Shard) -> usize {
        lane_of(shard)
    }

    fn is_connected(&self, shard: Shard) -> bool {
        self.services.lanes.of_shard(shard).is_some_and(|service| service.serves(shard))
    }

    fn troubles(&self) -> Vec<String> {
        let services = self.services.lanes.usable();
        match services.iter().all(|service| service.count_away(|_| true) > 0) {
            true if services.is_empty() => vec!["no history service is connected".to_owned()],
            true => vec!["the history services cannot reach their store; /readyz of each says why".to_owned()],
            false => Vec::new(),
        }
    }

    fn get(&self, user: UserId, contents: Vec<Content>, _now: u64) -> Answer<Found> {
        reads::get(self.clone(), user, contents).boxed()
    }

    fn list(&self, user: UserId, request: PageRequest, _now: u64, rows: RowsRead) -> Answer<Page> {
        reads::list(self.clone(), user, request, rows).boxed()
    }

    fn last_switch(&self, user: UserId) -> Answer<Option<Switch>> {
        reads::last_switch(self.clone(), user).boxed()
    }
}

/// No service can be asked now.
fn nowhere() -> StoreError {
    StoreError::Away("no history service is connected".to_owned())
}

/// The error of a failed call: nothing is known to have been done.
fn away(status: &tonic::Status) -> StoreError {
    StoreError::Away(format!("history service: {}", chain(status)))
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        let reason = error.to_string();
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = error.source();
    }
    text
}
