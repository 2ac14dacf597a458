//! The configured hot store, and the parts that come with it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::registry::Registry;

use super::counters::{Derived, Direct};
use super::error::StartError;
use crate::config::Config;
use domain::content_names::NamedContents;
use domain::devices::gateways::Gateways;
use domain::names::UserNames;
use domain::time::clock;
use edge::auth::Subjects;
use model::content_name::ContentIds;
use model::rewards::calendar::StoredCalendar;
use storage::counters::DirectCounters;
use storage::device_channel::{Alone, DeviceChannel};
use storage::event_bus::{self, EventTopic};
use storage::hot_store::HotStore;
use storage::hot_store::config::Backend;
use storage::notices::Notices;
use storage::outbox::Outbox;
use storage::views::Views;
use storage_embedded::data_dir::DataDir;
use storage_embedded::disk_usage::DiskUsage;
use storage_embedded::event_bus::EmbeddedLog;
use storage_embedded::hot_store::{
    EmbeddedContentNames, EmbeddedCounters, EmbeddedDirect, EmbeddedNames, EmbeddedStore,
};

/// How often the disk is measured: more often than Prometheus asks.
const DISK_USAGE_INTERVAL: Duration = Duration::from_secs(5);

pub(super) struct Hot {
    pub store: Arc<dyn HotStore>,
    pub outbox: Arc<dyn Outbox>,
    pub notices: Arc<dyn Notices>,
    /// Tells the store from others.
    pub name: String,
    pub channel: Arc<dyn DeviceChannel>,
    /// The server's clock begins no earlier, milliseconds since 1970.
    pub clock_floor: u64,
    pub calendar: Option<StoredCalendar>,
    /// Where users are named by texts.
    pub names: Option<UserNames>,
    /// Where contents are named by texts.
    pub contents: Option<NamedContents>,
    /// When the store was rebuilt after a loss, milliseconds since 1970; `None`: it never was.
    pub rebuilt_at: Option<u64>,
    pub views: Option<Arc<dyn Views>>,
    pub direct: Direct,
    pub derived: Option<Derived>,
    /// Those without a store, before the channel; `None`: none can connect.
    pub gateways: Option<Arc<Gateways>>,
    /// The data directory of the event log, where it is not the hot store's.
    pub _data_dir: Option<DataDir>,
}

/// Measures the databases that this process keeps.
pub(super) fn measure_disk(config: &Config, registry: &mut Registry) -> io::Result<()> {
    let hot = (config.store.hot_store == Backend::Embedded).then_some(("hot", EmbeddedStore::FOLDER));
    let logs_here = config.events.event_bus == event_bus::config::Backend::Embedded;
    let logs = [("events", EventTopic::Rewards), ("positions", EventTopic::Positions)];
    let logs = logs.map(|(name, topic)| (name, EmbeddedLog::folder(topic))).into_iter().filter(|_| logs_here);
    let disk_usage = DiskUsage::start(&config.store.data_dir, hot.into_iter().chain(logs), DISK_USAGE_INTERVAL)?;
    registry.register_collector(Box::new(disk_usage));
    Ok(())
}

/// Users and contents are named in one way for as long as the store lives. `by_name`: what the setting says; `has_names`:
/// whether they have names there; `None`: it is new.
fn require_naming(setting: &str, by_name: bool, has_names: Option<bool>) -> Result<(), StartError> {
    let (is, was) = match (by_name, has_names) {
        (true, Some(false)) => ("any", "number"),
        (false, Some(true)) => ("number", "any"),
        (_, None) | (true, Some(true)) | (false, Some(false)) => return Ok(()),
    };
    Err(StartError::Misfit(format!(
        "{setting}: is \"{is}\", and was \"{was}\" when this store was made; set \"{was}\", or begin with a new store"
    )))
}

pub(super) fn require_subjects(subjects: Subjects, has_names: Option<bool>) -> Result<(), StartError> {
    require_naming("auth.subjects", subjects == Subjects::Any, has_names)
}

pub(super) fn require_content_ids(ids: ContentIds, has_names: Option<bool>) -> Result<(), StartError> {
    require_naming("contents.ids", ids == ContentIds::Any, has_names)
}

impl Hot {
    /// Before the gateways on the same store there are those without one, if they can connect here.
    pub fn with_gateways(mut self, config: &Config) -> Self {
        self.gateways = config.grpc.listen.0.map(|_| Gateways::before(self.channel.clone()));
        if let Some(gateways) = &self.gateways {
            self.channel = gateways.clone();
        }
        self
    }

    pub fn embedded(config: &Config) -> Result<Self, StartError> {
        let store = Arc::new(EmbeddedStore::open(&config.store, Arc::new(clock::wall))?);
        let definitions = Arc::new(config.counters.direct());
        let direct: Option<Arc<dyn DirectCounters>> = match definitions.is_empty() {
            true => None,
            false => Some(Arc::new(EmbeddedDirect::open(store.clone(), definitions, config.rewards.outbox)?)),
        };
        require_subjects(config.auth.subjects, store.has_names()?)?;
        require_content_ids(config.contents.ids, store.has_content_names()?)?;
        let names = match config.auth.subjects {
            Subjects::Number => None,
            Subjects::Any => Some(UserNames::new(Arc::new(EmbeddedNames::open(store.clone())?))),
        };
        let contents = match config.contents.ids {
            ContentIds::Number => None,
            ContentIds::Any => {
                let names = EmbeddedContentNames::open(store.clone(), Arc::new(clock::wall))?;
                Some(NamedContents::new(Arc::new(names)))
            }
        };
        let derived = EmbeddedCounters::of(store.clone(), config.counters.derived(&config.reading));
        let metrics = derived.metrics().clone();
        Ok(Hot {
            outbox: store.clone(),
            notices: store.clone(),
            name: format!("embedded {}", store.id()),
            channel: Arc::new(Alone),
            clock_floor: store.clock_floor(),
            calendar: store.calendar().cloned(),
            names,
            contents,
            rebuilt_at: None,
            views: Some(store.clone()),
            direct: Direct { counters: direct, worker: None },
            derived: Some(Derived { counters: Arc::new(derived), metrics }),
            gateways: None,
            _data_dir: None,
            store,
        })
    }
}
