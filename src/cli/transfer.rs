//! `heartline import` and `heartline export`: the records of users, one JSON object a line, over gRPC.

pub mod export;
pub mod import;

mod bar;
mod batch;
mod progress;
mod record_line;
mod source;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::gateway::{self, GatewayError};
use crate::config::Config;
use domain::time::clock;
use edge::auth::key::SIGNS_NOTHING;
use edge::auth::{Scopes, SigningKey};
use edge::grpc::client::{CallError, HistoryClient};
use model::secret::Secret;

/// How long calls are repeated while none is answered.
const PATIENCE: Duration = Duration::from_secs(120);
/// The life of a token that is signed here. A new one is signed before it expires.
const TOKEN_TTL: Duration = Duration::from_secs(3_600);

/// The gRPC listener, and how the command proves itself.
#[derive(Args, Debug)]
pub struct ServiceArgs {
    /// The gRPC listener, with http:// or https://. Without it, grpc.listen of these settings.
    #[arg(long, value_name = "URL")]
    grpc: Option<String>,
    /// Authorities that sign its certificate, in PEM. Without it, those of the system.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// File with a service token. Without it, a token is signed with the gateway's key of these settings.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Why a command ends before its end.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("grpc.listen is empty: set it, or name a gRPC listener with --grpc")]
    NoAddress,
    #[error(transparent)]
    Process(#[from] GatewayError),
    #[error("{} cannot be read: {}", .0.display(), .1)]
    Read(PathBuf, io::Error),
    #[error("{} cannot be written: {}", .0.display(), .1)]
    Write(PathBuf, io::Error),
    #[error("{} is there already: delete it, or name another file", .0.display())]
    Exists(PathBuf),
    #[error("{} says how far another file was read: delete it to begin with the first line", .0.display())]
    OtherFile(PathBuf),
    #[error("{} does not say how far a file was read: {}", .0.display(), .1)]
    Progress(PathBuf, String),
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
}

impl ServiceArgs {
    fn client(&self, config: &Config, scopes: Scopes) -> Result<HistoryClient, TransferError> {
        let address = match &self.grpc {
            Some(address) => address.clone(),
            None => here(config)?,
        };
        let tokens: Box<dyn Fn() -> Result<Secret, CallError> + Send + Sync> = match &self.token_file {
            Some(path) => {
                let path = path.clone();
                Box::new(move || read_token(&path))
            }
            None => {
                let key = signing_key(config)?;
                Box::new(move || {
                    let issued = key.issue_service("heartline", scopes, TOKEN_TTL, clock::wall());
                    Ok(Secret::new(issued.token))
                })
            }
        };
        Ok(HistoryClient::new(address, self.ca.as_deref(), tokens, PATIENCE)?)
    }
}

/// The listener of a gateway on this machine that has these settings.
fn here(config: &Config) -> Result<String, TransferError> {
    let listen = config.grpc.listen.0.ok_or(TransferError::NoAddress)?;
    let address = gateway::reachable("grpc.listen", listen)?;
    let scheme = if config.grpc.tls_cert.as_os_str().is_empty() { "http" } else { "https" };
    Ok(format!("{scheme}://{address}"))
}

fn read_token(path: &Path) -> Result<Secret, CallError> {
    let text = fs::read_to_string(path).map_err(|error| CallError::File(path.display().to_string(), error))?;
    Ok(Secret::new(text.trim().to_owned()))
}

fn signing_key(config: &Config) -> Result<SigningKey, CallError> {
    let data_dir = &config.store.data_dir;
    let hint = "or give a service token with --token-file";
    if !SigningKey::exists(&config.auth, data_dir) {
        let why = format!("no key to sign a token with: set auth.hs256_secret or store.data_dir, {hint}");
        return Err(CallError::NoToken(why));
    }
    let key = SigningKey::load(&config.auth, data_dir).map_err(|error| CallError::NoToken(error.to_string()))?;
    key.ok_or_else(|| CallError::NoToken(format!("{SIGNS_NOTHING}; {hint}")))
}

impl TransferError {
    /// Codes of `sysexits.h`.
    pub fn exit_code(&self) -> u8 {
        match self {
            TransferError::Call(error) => error.exit_code(),
            TransferError::Process(error) => error.exit_code(),
            TransferError::NoAddress => 78,
            TransferError::Read(..) => 66,
            TransferError::Write(..) | TransferError::Exists(_) => 73,
            TransferError::OtherFile(_) | TransferError::Progress(..) => 65,
            TransferError::Output(_) => 74,
        }
    }
}
