//! What packers do in a run.

use std::sync::MutexGuard;

use heartline::model::ids::UserId;
use heartline::model::pack::PackedRow;
use heartline::storage::hot_store::optimistic::{Relist, TokenSource, list};
use rand::RngExt;

use super::{World, lost};
use crate::state_search::backing::Backing;
use crate::state_search::carried;
use crate::state_search::network::{CallKey, PutOffCall};
use crate::state_search::packers::{Bus, Errand, PACKERS};
use crate::state_search::scenario::{Fault, OIDS, USERS};
use crate::state_search::state::State;

impl<B: Backing> World<'_, B> {
    pub(super) fn bus(&self) -> MutexGuard<'_, Bus> {
        self.bus.lock().unwrap()
    }

    pub(super) async fn listed(&self) -> Vec<UserId> {
        let mut listed = Vec::new();
        for user in USERS {
            if self.backing.on_list(user).await.due.is_some() {
                listed.push(user);
            }
        }
        listed
    }

    /// A packer begins with a user, or ends in the middle of one.
    pub(super) async fn pack(&mut self) {
        if self.packers.is_empty() {
            return;
        }
        let index = self.rng.random_range(0..self.packers.len());
        if !self.packers[index].is_idle() {
            if self.strikes(Fault::Killed, 0.2) {
                self.packers[index].ends();
            }
            return;
        }
        let listed = self.listed().await;
        // A packer that was held up takes users of whom it has heard before.
        let user = match listed.is_empty() || self.strikes(Fault::Late, 0.1) {
            true if self.calm => return,
            true => USERS[self.rng.random_range(0..USERS.len())],
            false => listed[self.rng.random_range(0..listed.len())],
        };
        let errand = Errand {
            user,
            now: self.now,
            cut: self.rng.random_range(0..=OIDS as usize),
            stays: !self.calm && self.rng.random_bool(0.3),
        };
        let number = self.packers[index].number;
        self.tell(|| format!("packer {number}: {errand:?}"));
        self.packers[index].begin(errand);
    }

    /// A pack arrives, or is lost.
    pub(super) fn deliver(&mut self) {
        let count = self.bus().under_way.len();
        if count == 0 {
            return;
        }
        let index = self.rng.random_range(0..count);
        if self.strikes(Fault::Lost, 0.15) {
            self.bus().under_way.swap_remove(index);
            return;
        }
        let again = self.strikes(Fault::Repeated, 0.1);
        let pack = self.bus().under_way[index].pack.clone();
        self.tell(|| format!("arrives: {pack:?}"));
        self.bus().deliver(index, again);
    }

    pub(super) async fn put_off(&mut self, key: CallKey, call: PutOffCall) -> Result<(), String> {
        let PutOffCall { users, due, reply } = call;
        let done = !self.strikes(Fault::Lost, 0.1);
        if done {
            self.backing.put_off(&users, due).await.map_err(|error| error.to_string())?;
        }
        self.tell(|| format!("{key:?}: {users:?} are put off until {due}: {done}"));
        let _ = reply.send(if done { Ok(()) } else { Err(lost()) });
        for (user, _) in users {
            self.is_safe(user).await?;
        }
        Ok(())
    }

    /// Lists the users that were never listed, or all users, as after a loss in the history store.
    pub(super) async fn walk(&mut self) -> Result<(), String> {
        let tokens = TokenSource::new(2 * PACKERS as u64);
        let which = if self.rng.random_bool(0.25) { Relist::All } else { Relist::Unknown };
        let listed = list(self.backing, &tokens, &USERS, which, self.now).await.map_err(|error| error.to_string())?;
        self.tell(|| format!("{listed} users are listed: {which:?}"));
        Ok(())
    }

    /// What has expired was carried before it went; `before`: the state before the last one.
    pub(super) fn has_carried(&mut self, user: UserId, before: &State) -> Result<(), String> {
        let after = self.oracle.state(user).clone();
        let forgetting = after.forgetting(user);
        // What gave way to the cap is gone from everywhere.
        if forgetting.floor > before.forgetting(user).floor {
            return Ok(());
        }
        let forgotten = forgetting.watermark.max(forgetting.floor);
        let (kept, bus) = (after.contents(user), self.bus());
        let gone = before
            .contents(user)
            .into_iter()
            .filter(|(content, row)| !kept.contains_key(content) && row.newest() > forgotten);
        for (content, row) in gone {
            let wanted = PackedRow::of(content, &row);
            let found = bus.rows.get(&(user, content));
            if found.is_none_or(|found| found.version < wanted.version) {
                return Err(format!("user {}: {wanted:?} has expired before it was carried, but {found:?}", user.0));
            }
        }
        Ok(())
    }

    pub(super) async fn is_safe(&self, user: UserId) -> Result<(), String> {
        let found = carried::read(self.backing, user).await?;
        let safe = found.is_safe(&self.bus(), &self.scenario.limits, self.now);
        safe.map_err(|why| format!("user {}: {why}", user.0))
    }
}
