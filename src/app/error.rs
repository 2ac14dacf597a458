//! Why a role did not start, or ended, and why a command cannot read.

use std::io;
use std::net::{SocketAddr, TcpListener};

use edge::auth::{KeptSecretError, KeySetError};
use edge::listener::TlsError;
use edge::visitor::CountryFileError;
use model::rewards::zone::NoZone;
use storage::agreed_settings::Difference;
use storage::history_store::HistoryAway;
use storage::hot_store::StoreError;
use storage::revocation_list::ListError;
use storage_embedded::hot_store::OpenError;
use storage_http::{EndpointRefused, NoRoots};

/// Each in one line that says how to fix it, with an exit code of `sysexits.h`.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] OpenError),
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
    Endpoint(#[from] EndpointRefused),
    #[error(transparent)]
    Roots(#[from] NoRoots),
    /// The role has nothing to do.
    #[error("{0}")]
    Misfit(String),
    /// Another server is away, or its settings are wrong. Which servers there are depends on the build.
    #[error("{said}")]
    Server { said: String, exit_code: u8 },
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
            StartError::Endpoint(_) | StartError::Roots(_) | StartError::Misfit(_) => 78,
            StartError::Server { exit_code, .. } => *exit_code,
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

/// Why the data of a user cannot be read. Each with an exit code of `sysexits.h`.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    #[error("there is no history store: history.store is \"none\"; set it to \"cassandra\"")]
    NoStore,
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    HistoryAway(#[from] HistoryAway),
    #[error(transparent)]
    HotAway(#[from] StoreError),
}

impl LookError {
    pub fn exit_code(&self) -> u8 {
        match self {
            LookError::NoStore => 78,
            LookError::Start(error) => error.exit_code(),
            LookError::HistoryAway(_) | LookError::HotAway(_) => 69,
        }
    }
}
