//! Revoked tokens, which are refused although their signature is good: a list that operators change and that survives
//! restarts.
//!
//! A change is saved before it applies, so that an answered change survives a restart. It then applies to all new
//! connections and closes the open ones that it covers. A connection is checked after it has been registered, so that
//! none escapes a revocation.
//!
//! Gateways that share a list each hold a copy, and new connections are checked against the copy. The gateway that
//! changes the list announces it, and the others read it again. They also read it every [`READ_INTERVAL`], in case they
//! missed an announcement.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::devices::presence::Presence;
use model::ids::UserId;
use model::revocation::{Revocation, Revoked, TokenMark};
use storage::device_channel::{Announcement, DeviceChannel};
use storage::revocation_list::{Edition, RevocationList};

/// Why a change was not made, or may not have been made; the copy here is unchanged.
pub use storage::revocation_list::ListError as Unchanged;

/// The longest time between two reads of a shared list without an announcement.
const READ_INTERVAL: Duration = Duration::from_secs(10);
/// The pause after a failed read.
const READ_RETRY: Duration = Duration::from_secs(1);

pub struct Revocations {
    presence: Arc<Presence>,
    store: Box<dyn RevocationList>,
    channel: Arc<dyn DeviceChannel>,
    /// The longest life of a token, leeway included; `None` = unlimited.
    token_life_max: Option<Duration>,
    list: RwLock<List>,
    /// The edition of the copy. Held while a change is saved or the list is read; lookups do not wait for it.
    changing: Mutex<Edition>,
    /// Notified when another gateway may have changed the list.
    wake: Notify,
}

type List = HashMap<Revoked, Revocation>;

impl Revocations {
    /// `channel`: reaches the gateways that share the list.
    pub fn open(
        presence: Arc<Presence>,
        store: Box<dyn RevocationList>,
        channel: Arc<dyn DeviceChannel>,
        token_life_max: Option<Duration>,
    ) -> Result<Self, Unchanged> {
        let (edition, revocations) = store.load(None)?.unwrap_or_default();
        let (list, changing) = (RwLock::new(by_what(revocations)), Mutex::new(edition));
        Ok(Revocations { presence, store, channel, token_life_max, list, changing, wake: Notify::new() })
    }

    /// Whether a token of this user is revoked. `now_ms`: milliseconds since 1970 by the wall clock, here and below.
    pub fn refuses(&self, user: UserId, token: &TokenMark, now_ms: u64) -> bool {
        self.refuses_as(Some(Revoked::User(user)), token, now_ms)
    }

    /// Whether a token that is not a user's is revoked, by its id.
    pub fn refuses_token(&self, token: &TokenMark, now_ms: u64) -> bool {
        self.refuses_as(None, token, now_ms)
    }

    fn refuses_as(&self, user: Option<Revoked>, token: &TokenMark, now_ms: u64) -> bool {
        let list = self.list();
        if list.is_empty() {
            return false;
        }
        let refused = |what: &Revoked| list.get(what).is_some_and(|revocation| revocation.refuses(token, now_ms));
        user.is_some_and(|user| refused(&user)) || token.id.clone().is_some_and(|id| refused(&Revoked::Token(id)))
    }

    /// Adds a revocation, and closes the connections that it covers. Blocks until it is saved. `until_ms`: the end of
    /// the revocation; by default when all tokens that it covers must have expired.
    pub fn revoke(&self, what: Revoked, until_ms: Option<u64>, now_ms: u64) -> Result<(), Unchanged> {
        // Clocks of issuer and gateway differ: what is in use was issued before now, whatever it says.
        let in_use = match &what {
            Revoked::User(user) => self.presence.newest_token(*user),
            Revoked::Token(_) => None,
        };
        let mut edition = self.changing();
        // Another may have changed it just now.
        self.catch_up(&mut edition)?;
        let before = self.list().get(&what).map(|revocation| revocation.at_ms);
        // Never moves back, even if the clock does or another gateway revokes at the same time.
        let at_ms = [Some(now_ms), in_use, before].into_iter().flatten().max().unwrap_or(now_ms);
        let until_ms = until_ms.or_else(|| self.end_of_tokens(at_ms));
        let stands = self.store.add(&Revocation { what, at_ms, until_ms }, now_ms)?;
        self.change(|list| {
            list.retain(|_, revocation| revocation.holds(now_ms));
            list.insert(stands.what.clone(), stands.clone());
        });
        drop(edition);
        self.dismiss(&stands);
        self.announce();
        Ok(())
    }

    /// Adds a revocation that another gateway has made, and closes the connections here that it covers. Blocks until it
    /// is saved. Returns the one that stands.
    pub fn adopt(&self, revocation: &Revocation, now_ms: u64) -> Result<Revocation, Unchanged> {
        let mut edition = self.changing();
        self.catch_up(&mut edition)?;
        let stands = self.store.add(revocation, now_ms)?;
        self.change(|list| drop(list.insert(stands.what.clone(), stands.clone())));
        drop(edition);
        self.dismiss(&stands);
        self.announce();
        Ok(stands)
    }

    /// The stored list; `None` if it is still the edition that is `known`. Blocks.
    pub fn stored(&self, known: Option<Edition>) -> Result<Option<(Edition, Vec<Revocation>)>, Unchanged> {
        self.store.load(known)
    }

    /// When all tokens issued up to `at_ms` have expired.
    fn end_of_tokens(&self, at_ms: u64) -> Option<u64> {
        self.token_life_max.map(|life| at_ms.saturating_add(life.as_millis() as u64))
    }

    /// Takes a revocation back; succeeds also if there was none. Blocks until it is saved.
    pub fn take_back(&self, what: &Revoked, now_ms: u64) -> Result<(), Unchanged> {
        let mut edition = self.changing();
        // Another may have made a later one just now.
        self.catch_up(&mut edition)?;
        let made_ms = self.list().get(what).map_or(0, |revocation| revocation.at_ms);
        self.remove(what, made_ms.max(now_ms), edition)
    }

    /// The same as another gateway has asked: what was made after `upto_ms` stays.
    pub fn take_back_upto(&self, what: &Revoked, upto_ms: u64) -> Result<(), Unchanged> {
        let mut edition = self.changing();
        self.catch_up(&mut edition)?;
        self.remove(what, upto_ms, edition)
    }

    fn remove(&self, what: &Revoked, upto_ms: u64, edition: MutexGuard<'_, Edition>) -> Result<(), Unchanged> {
        self.store.remove(what, upto_ms)?;
        self.change(|list| list.retain(|other, revocation| other != what || revocation.at_ms > upto_ms));
        drop(edition);
        self.announce();
        Ok(())
    }

    /// Has the list read again, since another gateway may have changed it. Does not block.
    pub fn read_again(&self) {
        self.wake.notify_one();
    }

    /// Follows what other gateways do to the list. Never ends.
    pub async fn keep_up(self: Arc<Self>) {
        let mut interval = READ_INTERVAL;
        loop {
            tokio::select! {
                () = self.wake.notified() => {}
                () = sleep(interval) => {}
            }
            let own = self.clone();
            let read = spawn_blocking(move || own.catch_up(&mut own.changing())).await;
            let failed = match read {
                Ok(Ok(())) => None,
                Ok(Err(unread)) => Some(unread.to_string()),
                Err(panic) => Some(panic.to_string()),
            };
            if let Some(reason) = &failed
                && interval == READ_INTERVAL
            {
                tracing::error!(
                    event = "revocations_stale",
                    reason,
                    "cannot read new revocations; known ones stay in force, retrying"
                );
            }
            if failed.is_none() && interval == READ_RETRY {
                tracing::info!(event = "revocations_current", "revocations are up to date again");
            }
            interval = if failed.is_none() { READ_INTERVAL } else { READ_RETRY };
        }
    }

    /// Reads the list if it has changed, and closes the connections that new revocations cover.
    fn catch_up(&self, edition: &mut Edition) -> Result<(), Unchanged> {
        let Some((newer, revocations)) = self.store.load(Some(*edition))? else { return Ok(()) };
        let list = by_what(revocations);
        let new: Vec<Revocation> = {
            let known = self.list();
            let is_new = |it: &&Revocation| known.get(&it.what).is_none_or(|before| before.at_ms < it.at_ms);
            list.values().filter(is_new).cloned().collect()
        };
        self.change(|own| *own = list);
        *edition = newer;
        new.iter().for_each(|revocation| self.dismiss(revocation));
        Ok(())
    }

    fn dismiss(&self, revocation: &Revocation) {
        match &revocation.what {
            Revoked::User(user) => self.presence.dismiss_tokens_of(*user, revocation.at_ms),
            Revoked::Token(id) => self.presence.dismiss_token(id),
        }
    }

    /// Announces a change, without waiting: a gateway that misses it reads the list at its next interval.
    fn announce(&self) {
        drop(self.channel.announce(Announcement::Revocations));
    }

    /// The revocations in force, the newest first.
    pub fn all(&self, now_ms: u64) -> Vec<Revocation> {
        let mut all: Vec<_> = self.list().values().filter(|revocation| revocation.holds(now_ms)).cloned().collect();
        all.sort_by_key(|revocation| std::cmp::Reverse(revocation.at_ms));
        all
    }

    fn change(&self, change: impl FnOnce(&mut List)) {
        change(&mut self.list.write());
    }

    /// Locks the edition, even after a panic: the edition is set last, so it is never half changed.
    fn changing(&self) -> MutexGuard<'_, Edition> {
        self.changing.lock()
    }

    fn list(&self) -> RwLockReadGuard<'_, List> {
        self.list.read()
    }
}

fn by_what(revocations: Vec<Revocation>) -> List {
    revocations.into_iter().map(|revocation| (revocation.what.clone(), revocation)).collect()
}

#[cfg(test)]
#[path = "revocations_tests.rs"]
mod tests;
