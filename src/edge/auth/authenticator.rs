//! Admits a connection: the token is checked and not revoked, the user is not blocked, and there is a place for it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::token::{Identity, ServiceIdentity, Subject, Verifier};
use super::token_error::TokenError;
use super::user::User;
use domain::devices::inbox::Inbox;
use domain::devices::kick_list::KickList;
use domain::devices::presence::{Presence, Registration};
use domain::devices::ready_list::Notifier;
use domain::names::{NamesUnavailable, Numbered, UserNames};
use domain::revocations::Revocations;
use domain::time::clock::Clock;
use model::ids::{ConnectionId, GatewayId, UserId};
use model::visitor::Visitor;

const WITH_NAMES: &str = "a verifier that reads names comes with names";

/// Shared by all threads.
#[derive(Clone)]
pub struct Authenticator {
    verifier: Arc<Verifier>,
    presence: Arc<Presence>,
    kick_list: Arc<KickList>,
    revocations: Arc<Revocations>,
    clock: Arc<Clock>,
    /// Where users are named by texts.
    names: Option<UserNames>,
    accepted: Counter,
    refused: Counter,
    causes: Family<Refusal, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refusal {
    cause: &'static str,
}

impl Authenticator {
    pub fn new(
        verifier: Arc<Verifier>,
        presence: Arc<Presence>,
        kick_list: Arc<KickList>,
        revocations: Arc<Revocations>,
        clock: Arc<Clock>,
        names: Option<UserNames>,
        registry: &mut Registry,
    ) -> Self {
        let checks = Family::<Labels, Counter>::default();
        let counter = |result| checks.get_or_create(&Labels { result }).clone();
        let (accepted, refused) = (counter("ok"), counter("refused"));
        registry.register("auth_checks", "Tokens checked", checks);
        let causes = Family::<Refusal, Counter>::default();
        // Exported from the start.
        TokenError::ALL.iter().for_each(|error| drop(causes.get_or_create(&Refusal { cause: error.word() })));
        registry.register("tokens_refused", "Tokens refused, by cause", causes.clone());
        Authenticator { verifier, presence, kick_list, revocations, clock, names, accepted, refused, causes }
    }

    /// Something to wait for before a token is checked: it names a key that may be published by now. Usually `None`.
    pub fn awaited_key(&self, token: &str) -> Option<BoxFuture<'static, ()>> {
        self.verifier.awaited_key(token)
    }

    /// Waits for that, if there is something to wait for.
    pub async fn await_key(&self, token: &str) {
        if let Some(published) = self.awaited_key(token) {
            published.await;
        }
    }

    /// Whether a token names a key that is unknown and may be published by now.
    pub fn lacks_key(&self, token: &str) -> bool {
        self.verifier.lacks_key(token)
    }

    /// Checks a token; the one place where a signature is verified.
    pub fn identify(&self, token: &str) -> Result<Identity, TokenError> {
        self.counted(self.verifier.verify(token, self.clock.wall()))
    }

    /// Checks the token of a service, which acts for users. Kicks do not concern services.
    pub fn identify_service(&self, token: &str) -> Result<ServiceIdentity, TokenError> {
        let now_ms = self.clock.wall();
        let identity = match self.verifier.verify_service(token, now_ms) {
            Ok(identity) if self.revocations.refuses_token(&identity.token, now_ms) => Err(TokenError::Revoked),
            identity => identity,
        };
        self.counted(identity)
    }

    fn counted<T>(&self, checked: Result<T, TokenError>) -> Result<T, TokenError> {
        match &checked {
            Ok(_) => {
                self.accepted.inc();
            }
            Err(error) => {
                self.refused.inc();
                self.causes.get_or_create(&Refusal { cause: error.word() }).inc();
                tracing::debug!(event = "token_refused", cause = error.word(), "token refused: {error}");
            }
        }
        checked
    }

    /// The user of a token. A name that has no number yet gets one; a text that was dropped is written again, unless the user
    /// is [refused](Self::refuses).
    pub async fn user(&self, identity: &Identity) -> Result<User, NamesUnavailable> {
        let (name, names) = match (&identity.subject, &self.names) {
            (Subject::Number(id), _) => return Ok(User { id: *id, name: None }),
            (Subject::Name(name), names) => (name, names.as_ref().expect(WITH_NAMES)),
        };
        let id = match names.find(name).await? {
            Some(Numbered { user, is_dropped }) if !is_dropped || self.refuses(user, identity) => user,
            _ => names.number(name).await?,
        };
        Ok(User { id, name: Some(name.clone()) })
    }

    /// The same for a read: a name that has no number gets none, and nothing is found.
    pub async fn reader(&self, identity: &Identity) -> Result<User, NamesUnavailable> {
        let (name, names) = match (&identity.subject, &self.names) {
            (Subject::Number(id), _) => return Ok(User { id: *id, name: None }),
            (Subject::Name(name), names) => (name, names.as_ref().expect(WITH_NAMES)),
        };
        let id = names.find(name).await?.map_or_else(|| name.stand_in(), |found| found.user);
        Ok(User { id, name: Some(name.clone()) })
    }

    /// Has the text of the user's name written again, if an erasure has dropped it.
    pub fn welcome_again(&self, user: &User) -> Option<BoxFuture<'static, Result<(), NamesUnavailable>>> {
        let (names, name) = (self.names.clone()?, user.name.clone()?);
        Some(Box::pin(async move { names.number(&name).await.map(drop) }))
    }

    /// Registers a new connection; `None` when it is [refused](Self::refuses).
    pub fn enter(
        &self,
        user: UserId,
        identity: &Identity,
        visitor: Visitor,
        notifier: Notifier,
    ) -> Option<Registration> {
        let registration = self.presence.register(user, identity.token.clone(), visitor, notifier);
        (!self.refuses(user, identity)).then_some(registration)
    }

    /// Replaces the token of a connection by another one of its user. False: the new token is [refused](Self::refuses),
    /// and the connection must be closed.
    pub fn renew(&self, registration: &Registration, identity: &Identity) -> bool {
        // Before the question, so that it does not slip in beside a revocation.
        registration.inbox().renewed(identity.token.clone());
        !self.refuses(registration.inbox().user, identity)
    }

    /// Whether the user was kicked a moment ago, or the token is revoked.
    pub fn refuses(&self, user: UserId, identity: &Identity) -> bool {
        self.kick_list.refuses(user, self.clock.instant())
            || self.revocations.refuses(user, &identity.token, self.clock.wall())
    }

    /// An inbox for one request of `user`. Its changes are pushed to all of the user's connections but `origin`.
    pub fn request(
        &self,
        user: UserId,
        origin: Option<ConnectionId>,
        visitor: Visitor,
        notifier: Notifier,
    ) -> Arc<Inbox> {
        self.presence.request(user, origin, visitor, notifier)
    }

    /// An inbox for changes of `user` that a gateway without a store sent for its connection.
    pub fn forwarded(
        &self,
        user: UserId,
        by: (GatewayId, ConnectionId),
        visitor: Visitor,
        notifier: Notifier,
    ) -> Arc<Inbox> {
        self.presence.forwarded(user, by, visitor, notifier)
    }
}
