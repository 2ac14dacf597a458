//! The callers of gRPC, and their permissions.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::{HeaderMap, header};
use tonic::Status;

use super::config::CallerConfig;
use crate::auth::Scopes;
use crate::auth::authenticator::Authenticator;
use crate::http::bearer::token_of;
use model::ids::Content;

/// An authenticated caller, in the extensions of its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    scopes: Scopes,
    kinds: Kinds,
}

/// The kinds that a caller may name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kinds {
    All,
    /// Sorted.
    These(Arc<[u16]>),
}

/// The name in the certificate of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Certificate {
    #[default]
    None,
    /// Without a name that says who it is.
    Nameless,
    Of(Arc<str>),
}

/// Judges callers.
pub struct Callers {
    authenticator: Authenticator,
    /// The most that each caller may do, by its name.
    listed: HashMap<String, Caller>,
}

impl Callers {
    pub fn new(authenticator: Authenticator, configured: &[CallerConfig]) -> Self {
        let caller = |one: &CallerConfig| Caller { scopes: one.scopes(), kinds: Kinds::of(&one.kinds) };
        let listed = configured.iter().map(|one| (one.name.clone(), caller(one))).collect();
        Callers { authenticator, listed }
    }

    /// The caller of a call with these headers. With a token and a certificate, what both allow. No certificate alone
    /// makes a gateway: back-ends have some, too.
    pub fn identify(&self, headers: &HeaderMap, certificate: &Certificate) -> Result<Caller, Status> {
        let by_certificate = match certificate {
            Certificate::None => None,
            Certificate::Nameless => {
                return Err(Status::unauthenticated("the certificate has neither a URI nor a DNS name"));
            }
            Certificate::Of(name) => Some(self.certified(name)),
        };
        let by_token = self.by_token(headers)?;
        match (by_certificate, by_token) {
            (Some(certified), Some(holder)) => Ok(certified.and(&holder)),
            (Some(certified), None) => Ok(certified.without_internal()),
            (None, Some(holder)) => Ok(holder),
            (None, None) => Err(Status::unauthenticated("authorization: is missing")),
        }
    }

    /// A certificate has no scopes: without a list of callers it may do everything, beside one it has to be listed.
    fn certified(&self, name: &str) -> Caller {
        let unlisted = match self.listed.is_empty() {
            true => Caller { scopes: Scopes::ALL, kinds: Kinds::All },
            false => Caller { scopes: Scopes::default(), kinds: Kinds::of(&[]) },
        };
        self.listed.get(name).cloned().unwrap_or(unlisted)
    }

    /// Something to wait for before a call with this token is judged: it names a key that may be published by now.
    pub fn awaited_key(&self, headers: &HeaderMap) -> Option<BoxFuture<'static, ()>> {
        self.authenticator.awaited_key(token_of(headers.get(header::AUTHORIZATION)?)?)
    }

    fn by_token(&self, headers: &HeaderMap) -> Result<Option<Caller>, Status> {
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let authorization = match (given.next(), given.next()) {
            (None, _) => return Ok(None),
            (Some(_), Some(_)) => return Err(Status::unauthenticated("authorization: is given twice")),
            (Some(authorization), None) => authorization,
        };
        let malformed = || Status::unauthenticated("authorization: must be a bearer token");
        let token = token_of(authorization).ok_or_else(malformed)?;
        let refused = |error: crate::auth::TokenError| Status::unauthenticated(error.cause());
        let service = self.authenticator.identify_service(token).map_err(refused)?;
        let holder = Caller { scopes: service.scopes, kinds: Kinds::All };
        Ok(Some(match self.listed.get(&service.name) {
            Some(listed) => listed.and(&holder),
            None => holder,
        }))
    }
}

impl Caller {
    /// The permissions that both have.
    fn and(&self, other: &Caller) -> Caller {
        Caller { scopes: self.scopes.and(other.scopes), kinds: self.kinds.and(&other.kinds) }
    }

    fn without_internal(self) -> Caller {
        Caller { scopes: Scopes { internal: false, ..self.scopes }, ..self }
    }

    pub fn may_read(&self) -> bool {
        self.scopes.read
    }

    pub fn require_read(&self) -> Result<(), Status> {
        Self::require(self.scopes.read, Scopes::READ)
    }

    pub fn require_write(&self) -> Result<(), Status> {
        Self::require(self.scopes.write, Scopes::WRITE)
    }

    pub fn require_internal(&self) -> Result<(), Status> {
        Self::require(self.scopes.internal, Scopes::INTERNAL)
    }

    fn require(has: bool, scope: &str) -> Result<(), Status> {
        if has { Ok(()) } else { Err(Status::permission_denied(format!("the scope {scope} is needed"))) }
    }

    pub fn has_all_kinds(&self) -> bool {
        self.kinds == Kinds::All
    }

    /// For what concerns records of all kinds.
    pub fn require_all_kinds(&self) -> Result<(), Status> {
        let refused = || Status::permission_denied("a caller of some kinds may not do this (grpc.callers)");
        self.has_all_kinds().then_some(()).ok_or_else(refused)
    }

    /// `field`: the path of the list of contents.
    pub fn require_contents<'c>(
        &self,
        field: &str,
        contents: impl IntoIterator<Item = &'c Content>,
    ) -> Result<(), Status> {
        let kinds = contents.into_iter().map(|content| content.kind).enumerate();
        self.require_kinds(kinds, |index| format!("{field}[{index}].kind"))
    }

    /// `path`: that of the kind of this index.
    pub fn require_kinds(
        &self,
        kinds: impl IntoIterator<Item = (usize, u16)>,
        path: impl Fn(usize) -> String,
    ) -> Result<(), Status> {
        match kinds.into_iter().find(|(_, kind)| !self.has(*kind)) {
            None => Ok(()),
            Some((index, kind)) => {
                let message = format!("{}: {kind} is not a kind of this caller (grpc.callers)", path(index));
                Err(Status::permission_denied(message))
            }
        }
    }

    pub fn has(&self, kind: u16) -> bool {
        match &self.kinds {
            Kinds::All => true,
            Kinds::These(kinds) => kinds.binary_search(&kind).is_ok(),
        }
    }

    /// Its kinds; `None` = all.
    pub fn kinds(&self) -> Option<&[u16]> {
        match &self.kinds {
            Kinds::All => None,
            Kinds::These(kinds) => Some(kinds),
        }
    }
}

impl Kinds {
    /// As configured: none named are all.
    fn of(configured: &[u16]) -> Self {
        if configured.is_empty() {
            return Kinds::All;
        }
        let mut kinds = configured.to_vec();
        kinds.sort_unstable();
        kinds.dedup();
        Kinds::These(kinds.into())
    }

    fn and(&self, other: &Kinds) -> Self {
        match (self, other) {
            (Kinds::All, kinds) | (kinds, Kinds::All) => kinds.clone(),
            (Kinds::These(one), Kinds::These(other)) => {
                Kinds::These(one.iter().copied().filter(|kind| other.binary_search(kind).is_ok()).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(read: bool, write: bool, kinds: &[u16]) -> Caller {
        Caller { scopes: Scopes { read, write, internal: false }, kinds: Kinds::of(kinds) }
    }

    #[test]
    fn two_proofs_allow_what_each_of_them_allows() {
        assert_eq!(caller(true, true, &[]).and(&caller(true, false, &[3, 1])), caller(true, false, &[1, 3]));
        let apart = caller(true, true, &[1, 2]).and(&caller(true, true, &[3]));
        assert_eq!((apart.kinds(), apart.has(1), apart.has(3)), (Some(&[][..]), false, false));
        assert!(apart.require_all_kinds().is_err());
    }

    #[test]
    fn a_kind_that_is_not_allowed_is_named_with_its_path() {
        let some = caller(true, true, &[1]);
        let contents = [Content { kind: 1, oid: 5 }, Content { kind: 2, oid: 5 }];
        let refused = some.require_contents("items", &contents).expect_err("another kind");
        assert_eq!(refused.message(), "items[1].kind: 2 is not a kind of this caller (grpc.callers)");
        assert!(some.require_contents("items", &contents[..1]).is_ok());
        assert!(caller(true, true, &[]).require_contents("items", &contents).is_ok());
    }
}
