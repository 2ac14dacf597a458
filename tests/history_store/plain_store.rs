//! The promises as plainly as they can be kept: the oracle of the search.

use std::collections::{BTreeMap, HashMap};
use std::future::ready;
use std::sync::{Arc, Mutex};

use heartline::model::ids::{Content, UserId};
use heartline::model::pack::{PackedForgetting, PackedRow, UserPack};
use heartline::model::retention::Retention;
use heartline::storage::history_store::{Answer, HistoryStore, HistoryUser};

use crate::history_store::words::{Backend, wall};

pub struct PlainStore {
    retention: Retention,
    users: Arc<Mutex<HashMap<UserId, Kept>>>,
}

#[derive(Clone, Default)]
struct Kept {
    forgetting: Option<PackedForgetting>,
    rows: BTreeMap<Content, PackedRow>,
    /// The longest that has come with a write.
    retention: Option<Retention>,
}

impl Backend for PlainStore {
    type Store = Self;

    fn open(retention: Retention) -> Self {
        PlainStore { retention, users: Arc::default() }
    }
}

impl HistoryStore for PlainStore {
    fn write(&self, users: Arc<[UserPack]>, retention: Option<Retention>, now: u64) -> Answer<()> {
        let retention = retention.map_or(self.retention, |retention| retention.max(self.retention));
        let mut kept = self.users.lock().unwrap();
        for pack in users.iter().cloned() {
            let user = kept.entry(pack.user).or_default();
            user.retention = user.retention.max(Some(retention));
            if let Some(forgetting) = pack.forgetting {
                user.forget(forgetting);
            }
            for row in pack.rows.into_iter().filter(|row| retention.expires(row.newest()) > now) {
                user.put(row);
            }
        }
        Box::pin(ready(Ok(())))
    }

    /// What has expired by the wall clock is gone; what has by `now` is not shown.
    fn read(&self, user: UserId, now: u64) -> Answer<HistoryUser> {
        let mut users = self.users.lock().unwrap();
        let kept = users.entry(user).or_default();
        let retention = kept.retention.unwrap_or(self.retention);
        kept.rows.retain(|_, row| retention.expires(row.newest()) > wall());
        kept.forgetting.take_if(|forgetting| retention.expires(newest(forgetting)) <= wall());
        let user =
            HistoryUser::seen(kept.forgetting.clone(), kept.rows.values().cloned().collect(), self.retention, now);
        Box::pin(ready(Ok(user)))
    }
}

impl Kept {
    fn forget(&mut self, forgetting: PackedForgetting) {
        if self.forgetting.as_ref().is_none_or(|known| known.version <= forgetting.version) {
            self.forgetting = Some(forgetting);
        }
    }

    fn put(&mut self, row: PackedRow) {
        let is_newer =
            |known: &PackedRow| (known.version, known.record.is_none()) < (row.version, row.record.is_none());
        if self.rows.get(&row.content).is_none_or(is_newer) {
            self.rows.insert(row.content, row);
        }
    }
}

/// A pause that goes on is about now.
fn newest(forgetting: &PackedForgetting) -> u64 {
    let switches = &forgetting.switches;
    if switches.iter().max().is_some_and(|newest| newest.paused) {
        return u64::MAX;
    }
    let newest = switches.iter().map(|switch| switch.at).max().unwrap_or(0);
    newest.max(forgetting.watermark).max(forgetting.floor)
}
