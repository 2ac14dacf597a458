//! The token that each call brings along.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tonic::Request;
use tonic::metadata::{Ascii, MetadataValue};

use model::secret::Secret;

/// The age at which a token is replaced. Tokens that the gateway signs itself live longer.
const AGE_MAX: Duration = Duration::from_secs(300);

/// Makes a service token, or returns the configured one.
pub type Tokens = Box<dyn Fn() -> Secret + Send + Sync>;

pub struct Bearer {
    tokens: Tokens,
    kept: Mutex<Option<(Instant, MetadataValue<Ascii>)>>,
}

impl Bearer {
    pub fn new(tokens: Tokens) -> Self {
        Bearer { tokens, kept: Mutex::default() }
    }

    /// A call with the token. `within`: by when it has to be answered.
    pub fn request<T>(&self, message: T, within: Option<Duration>) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(within) = within {
            request.set_timeout(within);
        }
        // A token with bytes that no header has is refused like none.
        if let Some(token) = self.token() {
            request.metadata_mut().insert("authorization", token);
        }
        request
    }

    fn token(&self) -> Option<MetadataValue<Ascii>> {
        let mut kept = self.kept.lock();
        if let Some((_, token)) = kept.as_ref().filter(|(since, _)| since.elapsed() < AGE_MAX) {
            return Some(token.clone());
        }
        let mut token = MetadataValue::try_from(format!("Bearer {}", (self.tokens)().expose())).ok()?;
        token.set_sensitive(true);
        *kept = Some((Instant::now(), token.clone()));
        Some(token)
    }
}
