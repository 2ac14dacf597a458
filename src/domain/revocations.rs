//! Who must go although his token is good: a list that operators change and that outlives the process.
//!
//! A change is saved before it holds, so that what was answered is true after a restart, too. It then holds for
//! everybody who comes (a connection asks after it has been registered, so that none slips in beside a revocation) and
//! ends the connections it concerns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use super::devices::presence::Presence;
use crate::model::ids::UserId;
use crate::model::revocation::{Revocation, Revoked, TokenMark};
use crate::storage::revocation_list::{ListError, RevocationList};

/// Revocations kept at one time, each of some 100 bytes, at most 400; one more is refused, since to forget one of the
/// others would let somebody in.
pub const REVOCATIONS_MAX: usize = 65_536;

/// Why a change was not made; all is as it was.
#[derive(Debug, thiserror::Error)]
pub enum Unchanged {
    #[error("{REVOCATIONS_MAX} revocations are kept at most; take some back, or limit how long tokens live")]
    Full,
    #[error(transparent)]
    Unsaved(#[from] ListError),
}

pub struct Revocations {
    presence: Arc<Presence>,
    store: Box<dyn RevocationList>,
    /// How long a token may be good after it was issued, leeway included; `None` = for any time.
    token_life_max: Option<Duration>,
    list: RwLock<List>,
    /// Held while a change is saved: who only asks does not wait for the disk.
    changing: Mutex<()>,
}

type List = HashMap<Revoked, Revocation>;

impl Revocations {
    pub fn open(
        presence: Arc<Presence>,
        store: Box<dyn RevocationList>,
        token_life_max: Option<Duration>,
    ) -> Result<Self, ListError> {
        let list = store.load()?.into_iter().map(|revocation| (revocation.what.clone(), revocation)).collect();
        Ok(Revocations { presence, store, token_life_max, list: RwLock::new(list), changing: Mutex::default() })
    }

    /// Whether a token of this user is revoked. `now_ms`: milliseconds since 1970 by the wall clock, here and below.
    pub fn refuses(&self, user: UserId, token: &TokenMark, now_ms: u64) -> bool {
        let list = self.list();
        if list.is_empty() {
            return false;
        }
        let refused = |what: &Revoked| list.get(what).is_some_and(|revocation| revocation.refuses(token, now_ms));
        refused(&Revoked::User(user)) || token.id.clone().is_some_and(|id| refused(&Revoked::Token(id)))
    }

    /// Refuses from now on, and ends what is open. Blocks until it is saved. `until_ms`: when it may be forgotten; if not
    /// given, as soon as every token it concerns must have ended.
    pub fn revoke(&self, what: Revoked, until_ms: Option<u64>, now_ms: u64) -> Result<(), Unchanged> {
        // Clocks of issuer and gateway differ: what is in use was issued before now, whatever it says.
        let in_use = match &what {
            Revoked::User(user) => self.presence.newest_token(*user),
            Revoked::Token(_) => None,
        };
        let at_ms = self.change(now_ms, |list| {
            let before = list.get(&what).map(|revocation| revocation.at_ms);
            if before.is_none() && list.len() >= REVOCATIONS_MAX {
                return Err(Unchanged::Full);
            }
            // Never back, though the clock may be, or another who revoked at the same time.
            let at_ms = [Some(now_ms), in_use, before].into_iter().flatten().max().unwrap_or(now_ms);
            let until_ms = until_ms.or_else(|| self.end_of_tokens(at_ms));
            list.insert(what.clone(), Revocation { what: what.clone(), at_ms, until_ms });
            Ok(at_ms)
        })?;
        match what {
            Revoked::User(user) => self.presence.dismiss_tokens_of(user, at_ms),
            Revoked::Token(id) => self.presence.dismiss_token(&id),
        }
        Ok(())
    }

    /// When every token that was issued up to `at_ms` has ended.
    fn end_of_tokens(&self, at_ms: u64) -> Option<u64> {
        self.token_life_max.map(|life| at_ms.saturating_add(life.as_millis() as u64))
    }

    /// Takes a revocation back; done when there was none, too. Blocks until it is saved.
    pub fn take_back(&self, what: &Revoked, now_ms: u64) -> Result<(), Unchanged> {
        self.change(now_ms, |list| {
            list.remove(what);
            Ok(())
        })
    }

    /// Those that hold, the newest first.
    pub fn all(&self, now_ms: u64) -> Vec<Revocation> {
        let mut all: Vec<_> = self.list().values().filter(|revocation| revocation.holds(now_ms)).cloned().collect();
        all.sort_by_key(|revocation| std::cmp::Reverse(revocation.at_ms));
        all
    }

    fn change<T>(&self, now_ms: u64, change: impl FnOnce(&mut List) -> Result<T, Unchanged>) -> Result<T, Unchanged> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut list = self.list().clone();
        list.retain(|_, revocation| revocation.holds(now_ms));
        let changed = change(&mut list)?;
        let revocations: Vec<_> = list.values().cloned().collect();
        self.store.save(&revocations)?;
        *self.list.write().unwrap_or_else(PoisonError::into_inner) = list;
        Ok(changed)
    }

    /// Nothing that could panic runs under the lock, so a poisoned one is as good as any.
    fn list(&self) -> RwLockReadGuard<'_, List> {
        self.list.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "revocations_tests.rs"]
pub(crate) mod tests;
