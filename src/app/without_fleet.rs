//! Takes the place of `fleet` in a build without that feature.
//!
//! Settings that need the feature are refused when they are read, so this code never runs.

use std::sync::Arc;

use super::access::Access;
use super::assembly::Assembly;
use super::common::Common;
use super::counters::Derived;
use super::error::{LookError, StartError};
use super::examination::Examination;
use super::hot::Hot;
use super::redis_certificates::RedisCertificates;
use crate::config::Config;
use domain::cold::ColdReader;
use domain::counters::config::CountersConfig;
use domain::history_packs::feed::PackFeed;
use domain::subscribers::config::SubscribersConfig;
use domain::time::clock::Clock;
use model::ids::UserId;
use storage::device_channel::ChannelSubscriber;
use storage::event_bus::source::EventSource;
use storage::event_bus::{EventBus, EventTopic};
use storage::history_store::HistoryStore;
use storage::hot_store::HotStore;
use storage::owner_queues::OwnerQueues;
use storage::revocation_list::RevocationList;
use storage::views::Views;

/// Has no value: without drivers a store is not shared.
pub(super) enum Shared {}

/// Has no value: the embedded store counts by itself.
pub(super) enum Statistics {}

pub(super) fn fault_of_certificates(_: &Config) -> Option<String> {
    None
}

pub fn examine(_: &Config) -> Examination {
    Examination::of_none()
}

fn not_built<T>() -> Result<T, StartError> {
    Err(StartError::Misfit("this build has no drivers of other servers; build with --features fleet".to_owned()))
}

impl Shared {
    pub fn revocations(&self) -> Box<dyn RevocationList> {
        match *self {}
    }

    pub fn certificates(&self) -> Option<Arc<RedisCertificates>> {
        match *self {}
    }

    pub fn queues(&self, _: &SubscribersConfig) -> Arc<dyn OwnerQueues> {
        match *self {}
    }

    pub fn cold_reader(&self, _: &Config, _: &Arc<Clock>, _: &mut Assembly) -> Option<Arc<ColdReader>> {
        match *self {}
    }

    pub fn build(
        self,
        _: &Config,
        _: Option<Arc<PackFeed>>,
        _: Arc<dyn ChannelSubscriber>,
        _: &Access,
        _: &Common,
        _: &mut Assembly,
    ) -> Result<(), StartError> {
        match self {}
    }
}

impl Statistics {
    pub fn open(_: &Config, _: &Shared) -> Result<Option<Self>, StartError> {
        Ok(None)
    }

    pub fn views(&self) -> Arc<dyn Views> {
        match *self {}
    }

    pub fn derived(&self) -> Derived {
        match *self {}
    }

    pub fn build(self, _: &CountersConfig, _: &Common, _: &mut Assembly) {
        match self {}
    }
}

pub fn prepare(_: &Config) -> Result<String, StartError> {
    not_built()
}

pub mod rebuild {
    //! There is no store that could be rebuilt.

    use super::super::rebuild::{RebuildError, RebuildOptions, Told};
    use crate::config::Config;

    pub fn rebuild(_: &Config, _: RebuildOptions, _: &mut dyn FnMut(Told)) -> Result<(), RebuildError> {
        Ok(super::not_built()?)
    }
}

pub(super) fn open_hot(_: &Config, _: bool) -> Result<(Hot, Shared), StartError> {
    not_built()
}

pub(super) async fn hot_to_read(_: &Config) -> Result<Arc<dyn HotStore>, LookError> {
    Ok(not_built()?)
}

pub(super) async fn list_again(_: &Config, _: Option<UserId>) -> Result<u64, LookError> {
    Ok(not_built()?)
}

pub(super) fn history_to_read(_: &Config) -> Result<Arc<dyn HistoryStore>, StartError> {
    not_built()
}

pub(super) fn event_bus(_: &Config) -> Result<Arc<dyn EventBus>, StartError> {
    not_built()
}

pub(super) fn event_source(
    _: &Config,
    _: EventTopic,
    _: Arc<dyn OwnerQueues>,
) -> Result<Arc<dyn EventSource>, StartError> {
    not_built()
}

pub(super) mod job {
    use super::super::role::Role;
    use super::*;
    use crate::telemetry::log_writer::LogWriter;
    use edge::shutdown::{Signals, Stop};

    pub fn build(_: &Config, _: Role, _: Stop, _: &mut Assembly) -> Result<(), StartError> {
        Ok(())
    }

    pub fn serve(_: &Config, _: &Signals, _: &LogWriter) -> Result<(), StartError> {
        not_built()
    }
}

pub(super) mod cascade {
    use super::*;
    use crate::telemetry::log_writer::LogWriter;
    use edge::shutdown::Signals;

    pub fn serve(_: &Config, _: bool, _: &Signals, _: &LogWriter) -> Result<(), StartError> {
        not_built()
    }
}

pub(super) mod storeless {
    use super::super::role::Role;
    use super::*;
    use crate::telemetry::log_writer::LogWriter;
    use edge::shutdown::Signals;

    pub fn serve(_: &Config, _: Role, _: &Signals, _: &LogWriter) -> Result<(), StartError> {
        not_built()
    }
}
