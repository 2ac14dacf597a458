//! The changes of requests that are written together.

use std::collections::BTreeMap;
use std::sync::Arc;

use fjall::OwnedWriteBatch;

use super::head::{Head, Live};
use super::tables::{Events, Tables, View, away, dead_value, entry_value, event_key, mark_key, mark_value};
use model::subscribers::{Subscriber, SubscriberId};
use storage::event_bus::Offset;
use storage::event_bus::part::Part;
use storage::event_bus::source::LogMark;
use storage::owner_queues::{DeadReason, Entry, Version};
use storage::store_error::StoreError;

/// Heads as the requests before have left them, and a batch with everything that they write.
pub struct Draft<'a> {
    pub view: &'a View<'a>,
    heads: BTreeMap<SubscriberId, Drafted>,
    cursors: BTreeMap<Part, Offset>,
    batch: OwnedWriteBatch,
    is_empty: bool,
}

struct Drafted {
    head: Head,
    /// As it is stored; `None`: it is not changed.
    was: Option<Head>,
}

/// A head that a commit has changed.
pub struct Changed {
    pub id: SubscriberId,
    pub before: Head,
    pub after: Head,
}

impl<'a> Draft<'a> {
    pub fn new(view: &'a View<'a>, batch: OwnedWriteBatch) -> Self {
        Draft { view, heads: BTreeMap::new(), cursors: BTreeMap::new(), batch, is_empty: true }
    }

    fn tables(&self) -> &'a Tables {
        self.view.tables
    }

    pub fn head(&mut self, id: &SubscriberId) -> Result<&Head, StoreError> {
        Ok(&self.drafted(id)?.head)
    }

    /// To be changed.
    pub fn head_mut(&mut self, id: &SubscriberId) -> Result<&mut Head, StoreError> {
        let drafted = self.drafted(id)?;
        drafted.was.get_or_insert_with(|| drafted.head.clone());
        Ok(&mut drafted.head)
    }

    /// The state of an existing owner, to be changed; `None` if there is no such owner.
    pub fn live_mut(&mut self, id: &SubscriberId) -> Result<Option<&mut Live>, StoreError> {
        if self.head(id)?.live.is_none() {
            return Ok(None);
        }
        Ok(self.head_mut(id)?.live.as_mut())
    }

    fn drafted(&mut self, id: &SubscriberId) -> Result<&mut Drafted, StoreError> {
        if !self.heads.contains_key(id) {
            let head = self.view.head(id)?;
            self.heads.insert(id.clone(), Drafted { head, was: None });
        }
        Ok(self.heads.get_mut(id).expect("it was put in"))
    }

    pub fn define(&mut self, id: &SubscriberId, subscriber: &Arc<Subscriber>) {
        let json = serde_json::to_vec(&**subscriber).expect("text and numbers can be written as JSON");
        self.is_empty = false;
        self.batch.insert(&self.tables().definitions, id.as_str(), json);
    }

    pub fn undefine(&mut self, id: &SubscriberId) {
        self.is_empty = false;
        self.batch.remove(&self.tables().definitions, id.as_str());
    }

    /// After everything that the queue has. The owner must be there.
    pub fn push(&mut self, id: &SubscriberId, now: u64, event: &str) -> Result<(), StoreError> {
        let head = self.head_mut(id)?;
        let number = head.next_number();
        let Some(live) = &mut head.live else { return Ok(()) };
        live.depth += 1;
        live.bytes += event.len() as u64;
        let key = event_key(live.place, number);
        self.is_empty = false;
        self.batch.insert(&self.tables().queues, key, entry_value(now, event));
        Ok(())
    }

    /// Removes an entry that the view has, the oldest one.
    pub fn remove(&mut self, id: &SubscriberId, entry: &Entry) -> Result<(), StoreError> {
        let Some(live) = self.live_mut(id)? else { return Ok(()) };
        live.depth = live.depth.saturating_sub(1);
        live.bytes = live.bytes.saturating_sub(entry.event.len() as u64);
        live.removed = live.removed.max(entry.number);
        let key = event_key(live.place, entry.number);
        self.is_empty = false;
        self.batch.remove(&self.tables().queues, key);
        Ok(())
    }

    /// Adds an entry to the dead letters, under its number.
    pub fn bury(&mut self, id: &SubscriberId, entry: &Entry, reason: DeadReason, now: u64) -> Result<(), StoreError> {
        let Some(live) = self.live_mut(id)? else { return Ok(()) };
        live.dead += 1;
        live.dead_bytes += entry.event.len() as u64;
        let key = event_key(live.incarnation, entry.number);
        self.is_empty = false;
        self.batch.insert(&self.tables().dead, key, dead_value(now, reason, &entry.event));
        Ok(())
    }

    /// Removes a dead letter that the view has, the oldest one.
    pub fn unbury(&mut self, id: &SubscriberId, number: u64, event: &str) -> Result<(), StoreError> {
        let Some(live) = self.live_mut(id)? else { return Ok(()) };
        live.dead = live.dead.saturating_sub(1);
        live.dead_bytes = live.dead_bytes.saturating_sub(event.len() as u64);
        live.dead_removed = live.dead_removed.max(number);
        let key = event_key(live.incarnation, number);
        self.is_empty = false;
        self.batch.remove(&self.tables().dead, key);
        Ok(())
    }

    /// Discards the events under this place: they cannot be read any more, and are removed by and by.
    pub fn discard(&mut self, events: Events, place: Version) {
        self.is_empty = false;
        self.batch.insert(&self.tables().garbage, events.garbage_key(place), "");
    }

    pub fn move_cursor(&mut self, part: &Part, to: Offset) -> Result<(), StoreError> {
        let known = self.cursors.get(part).copied().map_or_else(|| self.view.cursor(part), Ok)?;
        if to > known {
            self.cursors.insert(part.clone(), to);
            self.is_empty = false;
            self.batch.insert(&self.tables().cursors, part.as_str(), to.to_be_bytes());
        }
        Ok(())
    }

    pub fn keep_mark(&mut self, part: &Part, mark: LogMark) {
        self.is_empty = false;
        self.batch.insert(&self.tables().cursors, mark_key(part), mark_value(mark));
    }

    /// Writes it, if there is something.
    pub fn commit(mut self) -> Result<Vec<Changed>, StoreError> {
        let (tables, heads) = (self.tables(), std::mem::take(&mut self.heads));
        let mut changed = Vec::new();
        for (id, Drafted { head: after, was }) in heads {
            let Some(before) = was else { continue };
            self.is_empty = false;
            let json = serde_json::to_vec(&after).expect("text and numbers can be written as JSON");
            self.batch.insert(&tables.heads, id.as_str(), json);
            if after.version != before.version {
                self.batch.remove(&tables.changes, before.version.to_be_bytes());
                self.batch.insert(&tables.changes, after.version.to_be_bytes(), id.as_str());
            }
            changed.push(Changed { id, before, after });
        }
        if !self.is_empty {
            self.batch.commit().map_err(away)?;
        }
        Ok(changed)
    }
}
