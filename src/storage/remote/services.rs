//! All history services of a gateway, and what they have in common.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;
use tokio::sync::watch;

use super::bearer::Bearer;
use super::lanes::ServiceLanes;
use super::metrics::Metrics;
use model::ids::GatewayId;
use storage::agreed_settings::Difference;
use storage::device_channel::ChannelSubscriber;
use storage::gateway_messages::wire::Hello;

pub struct Services {
    pub gateway: GatewayId,
    pub lanes: ServiceLanes,
    pub bearer: Arc<Bearer>,
    /// The authorities of the services' certificates, in PEM; `None`: those of the system.
    pub authorities: Option<Vec<u8>>,
    pub metrics: Metrics,
    /// The newest day of any service, as on the wire.
    today: AtomicU32,
    rules_per_user: AtomicBool,
    rules_per_content: AtomicBool,
    /// The store behind the services: another one would have other records of the same users.
    store: Mutex<Option<String>>,
    /// Settings that must equal those of the services: values as text, by name.
    settings: BTreeMap<String, String>,
    /// Settings that a service has otherwise; empty = none.
    pub overruled: watch::Sender<Vec<Difference>>,
    pub subscriber: Mutex<Option<Arc<dyn ChannelSubscriber>>>,
    /// How the first connection went.
    pub first: watch::Sender<First>,
}

/// Whether there is a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum First {
    #[default]
    Unknown,
    /// Not yet, and why.
    Away(String),
    /// A service does not take the gateway's token. It will not do so later.
    Refused(String),
    /// It has other settings.
    Differs(Vec<Difference>),
    Connected,
}

/// Why a service is not used.
pub enum Misfit {
    /// Its store is not that of the other services.
    Store,
    Settings(Vec<Difference>),
}

impl Services {
    pub fn new(
        gateway: GatewayId,
        bearer: Bearer,
        authorities: Option<Vec<u8>>,
        settings: BTreeMap<String, String>,
    ) -> Arc<Self> {
        Arc::new(Services {
            gateway,
            lanes: ServiceLanes::new(),
            bearer: Arc::new(bearer),
            authorities,
            metrics: Metrics::default(),
            today: AtomicU32::new(0),
            rules_per_user: AtomicBool::new(false),
            rules_per_content: AtomicBool::new(false),
            store: Mutex::default(),
            settings,
            overruled: watch::Sender::default(),
            subscriber: Mutex::default(),
            first: watch::Sender::default(),
        })
    }

    /// A service says what it is.
    pub fn greeted(&self, hello: &Hello) -> Result<(), Misfit> {
        let differences =
            Difference::all(&self.settings, |setting| hello.settings.get(setting), "the history services");
        if !differences.is_empty() {
            self.overruled.send_replace(differences.clone());
            return Err(Misfit::Settings(differences));
        }
        let mut store = self.store.lock();
        if store.get_or_insert_with(|| hello.store.clone()) != &hello.store {
            return Err(Misfit::Store);
        }
        self.is_day(hello.today);
        self.rules_per_user.store(hello.rules_per_user, Ordering::Relaxed);
        self.rules_per_content.store(hello.rules_per_content, Ordering::Relaxed);
        self.first.send_replace(First::Connected);
        Ok(())
    }

    /// A service says which day it is. It never goes back here.
    pub fn is_day(&self, today: u32) {
        self.today.fetch_max(today, Ordering::Relaxed);
    }

    pub fn today(&self) -> u32 {
        self.today.load(Ordering::Relaxed)
    }

    pub fn rules(&self) -> (bool, bool) {
        (self.rules_per_user.load(Ordering::Relaxed), self.rules_per_content.load(Ordering::Relaxed))
    }
}

impl First {
    /// Nothing more is to be expected. True: that is new.
    pub fn is_refused(&mut self, refused: First) -> bool {
        let is_new = *self != First::Connected;
        if is_new {
            *self = refused;
        }
        is_new
    }

    /// True: that is new.
    pub fn is_away(&mut self, why: String) -> bool {
        let is_new = matches!(self, First::Unknown | First::Away(_));
        if is_new {
            *self = First::Away(why);
        }
        is_new
    }
}
