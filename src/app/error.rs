//! Why a role did not start, or ended.

use std::io;
use std::net::{SocketAddr, TcpListener};

use crate::edge::auth::{KeptSecretError, KeySetError};
use crate::edge::listener::TlsError;
use crate::edge::visitor::CountryFileError;
use crate::model::rewards::zone::NoZone;
use crate::storage::agreed_settings::Difference;
use crate::storage::endpoint::http::EndpointRefused;
use crate::storage::event_bus::kafka::KafkaRefused;
use crate::storage::history_bus;
use crate::storage::history_store::cassandra::CassandraRefused;
use crate::storage::hot_store::StoreError;
use crate::storage::hot_store::embedded::OpenError;
use crate::storage::hot_store::remote::RemoteRefused;
use crate::storage::redis::RedisRefused;
use crate::storage::revocation_list::ListError;
use crate::storage::statistics::mongodb::MongoRefused;

/// Each in one line that says how to fix it, with an exit code of `sysexits.h`.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] OpenError),
    #[error(transparent)]
    Redis(#[from] RedisRefused),
    #[error(transparent)]
    HistoryService(#[from] RemoteRefused),
    #[error("{0}; start again when the store is available")]
    StoreAway(StoreError),
    #[error(transparent)]
    Key(#[from] KeptSecretError),
    #[error(transparent)]
    KeySet(#[from] KeySetError),
    #[error(transparent)]
    Revocations(#[from] ListError),
    #[error(transparent)]
    Zone(#[from] NoZone),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    CountryFile(#[from] CountryFileError),
    #[error(transparent)]
    Kafka(#[from] KafkaRefused),
    #[error(transparent)]
    HistoryBus(#[from] history_bus::kafka::KafkaRefused),
    #[error(transparent)]
    Endpoint(#[from] EndpointRefused),
    /// The role has nothing to do.
    #[error("{0}")]
    Misfit(String),
    #[error(transparent)]
    Cassandra(#[from] CassandraRefused),
    #[error(transparent)]
    Statistics(#[from] MongoRefused),
    #[error(
        "{setting} = \"{address}\" cannot be used: {source}; set another address, or stop the process that uses it"
    )]
    Bind { setting: &'static str, address: SocketAddr, source: io::Error },
    #[error("cannot set up the process: {0}")]
    Process(io::Error),
    #[error(
        "{}; set them as the other gateways have them, or start one gateway with --accept-settings: its settings are then \
         those of all, and gateways with others drain and end", Difference::joined(.0)
    )]
    OtherSettings(Vec<Difference>),
    #[error("{}; set them as the history services have them, and start again", Difference::joined(.0))]
    OtherSettingsOfServices(Vec<Difference>),
    /// Milliseconds.
    #[error(
        "the clock was {0} ms ahead of the store's when the wall clock was corrected; start again, it is right now"
    )]
    ClockAhead(i64),
    #[error("{0}; every acked beat is stored: repair the disk and start again")]
    StoreFailed(StoreError),
}

impl StartError {
    pub fn exit_code(&self) -> u8 {
        match self {
            StartError::Store(_) | StartError::Key(_) | StartError::Revocations(_) => 73,
            StartError::KeySet(_) | StartError::Tls(_) | StartError::Zone(_) | StartError::CountryFile(_) => 78,
            StartError::Kafka(_) | StartError::HistoryBus(_) | StartError::Endpoint(_) | StartError::Misfit(_) => 78,
            StartError::Redis(refused) => refused.exit_code(),
            StartError::HistoryService(refused) => refused.exit_code(),
            StartError::Cassandra(refused) => refused.exit_code(),
            StartError::Statistics(refused) => refused.exit_code(),
            StartError::Bind { .. } | StartError::StoreAway(_) => 69,
            StartError::Process(_) => 71,
            StartError::StoreFailed(_) => 74,
            StartError::ClockAhead(_) => 75,
            StartError::OtherSettings(_) | StartError::OtherSettingsOfServices(_) => 78,
        }
    }

    pub(super) fn binding<T>(setting: &'static str, address: SocketAddr, bound: io::Result<T>) -> Result<T, Self> {
        bound.map_err(|source| StartError::Bind { setting, address, source })
    }

    pub(super) fn address(listener: &TcpListener) -> Result<SocketAddr, Self> {
        listener.local_addr().map_err(StartError::Process)
    }
}
