//! A client of the service, for the commands.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io};

use parking_lot::Mutex;
use rand::RngExt;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Response, Status};
use tonic_types::StatusExt;

use super::wire::history_client::HistoryClient as Stub;
use super::wire::{ListRequest, ListResponse, PutRequest, PutResponse, UsersRequest, UsersResponse};
use model::backoff::Backoff;
use model::secret::Secret;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The age at which a token is replaced. Tokens that the command signs itself live longer.
const TOKEN_AGE_MAX: Duration = Duration::from_secs(300);
/// One that is refused after this time may have expired, and there may be another.
const TOKEN_FRESH: Duration = Duration::from_secs(10);
const RETRY: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
/// Bytes of one answer, unpacked: a page of a list has long names of devices at worst.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// Makes or reads a service token.
type Tokens = Box<dyn Fn() -> Result<Secret, CallError> + Send + Sync>;

pub struct HistoryClient {
    stub: Stub<Channel>,
    address: String,
    tokens: Tokens,
    token: Mutex<Option<(Instant, MetadataValue<Ascii>)>>,
    /// How long calls are repeated while none is answered.
    patience: Duration,
    began: Instant,
    /// `None`: no call was.
    answered: Mutex<Option<Instant>>,
    complained: AtomicBool,
}

/// Why a call has no answer that can be used.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("{0} is no address of a gRPC service, such as http://127.0.0.1:7703: {1}")]
    Address(String, String),
    #[error("{0} cannot be read: {1}")]
    File(String, io::Error),
    #[error("the token has bytes that no token has")]
    Token,
    #[error("{0}")]
    NoToken(String),
    #[error("{0} does not answer: {1}")]
    Away(String, String),
    #[error("{0} refuses the caller: {1}")]
    Refused(String, String),
    /// The message of INVALID_ARGUMENT, which begins with the path of the field.
    #[error("the request is refused: {0}")]
    Invalid(String),
    #[error("{0} answers something else: {1}")]
    Strange(String, String),
}

impl HistoryClient {
    /// Connects with the first call. `ca`: the authorities of the server's certificate, in PEM, instead of the
    /// system's. `patience`: how long calls are repeated while none is answered.
    pub fn new(address: String, ca: Option<&Path>, tokens: Tokens, patience: Duration) -> Result<Self, CallError> {
        let bad = |error: &dyn ToString| CallError::Address(address.clone(), error.to_string());
        let mut endpoint = Endpoint::from_shared(address.clone()).map_err(|error| bad(&error))?;
        if !matches!(endpoint.uri().scheme_str(), Some("http" | "https")) || endpoint.uri().authority().is_none() {
            return Err(bad(&"it needs http:// or https:// and a host"));
        }
        if endpoint.uri().scheme_str() == Some("https") {
            let tls = match ca {
                None => ClientTlsConfig::new().with_native_roots(),
                Some(path) => {
                    let pem = fs::read(path).map_err(|error| CallError::File(path.display().to_string(), error))?;
                    ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem))
                }
            };
            endpoint = endpoint.tls_config(tls).map_err(|error| bad(&error))?;
        }
        let channel = endpoint.connect_timeout(CONNECT_TIMEOUT).timeout(CALL_TIMEOUT).connect_lazy();
        let stub = Stub::new(channel).max_decoding_message_size(ANSWER_BYTES_MAX);
        let (token, answered) = (Mutex::new(None), Mutex::new(None));
        let (began, complained) = (Instant::now(), AtomicBool::new(false));
        Ok(HistoryClient { stub, address, tokens, token, patience, began, answered, complained })
    }

    /// Beats. The outcome of an entry may still be unknown.
    pub async fn put(&self, request: PutRequest) -> Result<PutResponse, CallError> {
        self.repeat(request, async |mut stub, request| stub.put(request).await).await
    }

    pub async fn list(&self, request: ListRequest) -> Result<ListResponse, CallError> {
        self.repeat(request, async |mut stub, request| stub.list(request).await).await
    }

    pub async fn users(&self, request: UsersRequest) -> Result<UsersResponse, CallError> {
        self.repeat(request, async |mut stub, request| stub.users(request).await).await
    }

    /// Repeats a call until it is answered, or refused for good. Only for calls that are safe to repeat.
    async fn repeat<Q: Clone, A>(
        &self,
        message: Q,
        call: impl AsyncFn(Stub<Channel>, Request<Q>) -> Result<Response<A>, Status>,
    ) -> Result<A, CallError> {
        let mut backoff = RETRY;
        loop {
            let mut request = Request::new(message.clone());
            request.metadata_mut().insert("authorization", self.bearer()?);
            let sent = Instant::now();
            let status = match call(self.stub.clone(), request).await {
                Ok(answer) => {
                    self.is_answered();
                    return Ok(answer.into_inner());
                }
                Err(status) => status,
            };
            let told = status.get_details_retry_info().and_then(|info| info.retry_delay);
            self.judge(&status, sent, told.is_some())?;
            let pause = backoff.failed_with_jitter(rand::rng().random());
            tokio::time::sleep(pause.max(told.unwrap_or_default())).await;
        }
    }

    /// `Ok`: another try may succeed. `is_from_service`: it says when to try again, as nothing else does.
    fn judge(&self, status: &Status, sent: Instant, is_from_service: bool) -> Result<(), CallError> {
        let message = status.message().to_owned();
        let answered = *self.answered.lock();
        let silent = answered.unwrap_or(self.began).elapsed();
        match status.code() {
            Code::InvalidArgument => Err(CallError::Invalid(message)),
            Code::Unauthenticated if self.renews_token(sent) => Ok(()),
            Code::Unauthenticated | Code::PermissionDenied => Err(CallError::Refused(self.address.clone(), message)),
            Code::Unimplemented | Code::OutOfRange => {
                Err(CallError::Strange(self.address.clone(), format!("{}: {message}", status.code())))
            }
            // There is a server, and it has much to do.
            Code::ResourceExhausted => {
                self.is_answered();
                Ok(())
            }
            // Among them INTERNAL: so ends a call whose connection breaks.
            _ if silent > self.patience || (answered.is_none() && !is_from_service) => {
                Err(CallError::Away(self.address.clone(), reason_of(status)))
            }
            _ => {
                if !self.complained.swap(true, Ordering::Relaxed) {
                    eprintln!("heartline: {} does not answer: {}; trying again", self.address, reason_of(status));
                }
                Ok(())
            }
        }
    }

    fn is_answered(&self) {
        *self.answered.lock() = Some(Instant::now());
        self.complained.store(false, Ordering::Relaxed);
    }

    fn bearer(&self) -> Result<MetadataValue<Ascii>, CallError> {
        let mut kept = self.token.lock();
        if let Some((_, token)) = kept.as_ref().filter(|(since, _)| since.elapsed() < TOKEN_AGE_MAX) {
            return Ok(token.clone());
        }
        let mut token =
            MetadataValue::try_from(format!("Bearer {}", (self.tokens)()?.expose())).map_err(|_| CallError::Token)?;
        token.set_sensitive(true);
        *kept = Some((Instant::now(), token.clone()));
        Ok(token)
    }

    /// Whether there may be another token than that of a call that was sent then.
    fn renews_token(&self, sent: Instant) -> bool {
        let mut kept = self.token.lock();
        kept.take_if(|(since, _)| since.elapsed() > TOKEN_FRESH);
        kept.as_ref().is_none_or(|(since, _)| *since > sent)
    }
}

/// The message of a status, and what caused it where the connection failed.
fn reason_of(status: &Status) -> String {
    let mut reason = status.message().to_owned();
    let mut cause = std::error::Error::source(status);
    while let Some(error) = cause {
        let text = error.to_string();
        if !reason.contains(&text) {
            reason = format!("{reason}: {text}");
        }
        cause = error.source();
    }
    reason
}

impl CallError {
    /// Codes of `sysexits.h`.
    pub fn exit_code(&self) -> u8 {
        match self {
            CallError::Address(..) | CallError::NoToken(_) => 78,
            CallError::File(..) => 66,
            CallError::Token | CallError::Refused(..) => 77,
            CallError::Away(..) => 69,
            CallError::Invalid(_) => 65,
            CallError::Strange(..) => 76,
        }
    }
}
