//! Tables with one table for each day, so that old entries are removed with their table.

use std::collections::BTreeMap;
use std::sync::Arc;

use fjall::{Database, Keyspace, KeyspaceCreateOptions};
use parking_lot::{RwLock, RwLockReadGuard};

use model::rewards::day::Day;

const MEMTABLE_BYTES: u64 = 8 << 20;

/// The tables of the kept days, under one name.
#[derive(Clone)]
pub struct DayTables {
    database: Database,
    /// The prefix of their names, which end with the day.
    prefix: &'static str,
    /// The number of days kept, counted from the newest.
    kept: u16,
    days: Arc<RwLock<BTreeMap<Day, Keyspace>>>,
}

impl DayTables {
    pub fn open(database: &Database, prefix: &'static str, kept: u16) -> fjall::Result<Self> {
        let mut days = BTreeMap::new();
        for name in database.list_keyspace_names() {
            if let Some(day) = name.strip_prefix(prefix).and_then(|day| day.parse().ok()) {
                days.insert(day, database.keyspace(&name, options)?);
            }
        }
        Ok(DayTables { database: database.clone(), prefix, kept, days: Arc::new(RwLock::new(days)) })
    }

    /// The table of a day, if anything was written on it.
    pub fn of(&self, day: Day) -> Option<Keyspace> {
        self.days().get(&day).cloned()
    }

    /// The table of a day. If it has to be made, tables of older days are removed.
    pub fn of_or_new(&self, day: Day) -> fjall::Result<Keyspace> {
        if let Some(table) = self.of(day) {
            return Ok(table);
        }
        let table = self.database.keyspace(&format!("{}{day}", self.prefix), options)?;
        let mut days = self.days.write();
        days.insert(day, table.clone());
        let kept = days.split_off(&Day::of_number(day.number().saturating_sub(self.kept - 1)));
        for (_, expired) in std::mem::replace(&mut *days, kept) {
            self.database.delete_keyspace(expired)?;
        }
        Ok(table)
    }

    pub fn all(&self) -> Vec<(Day, Keyspace)> {
        self.days().iter().map(|(day, table)| (*day, table.clone())).collect()
    }

    fn days(&self) -> RwLockReadGuard<'_, BTreeMap<Day, Keyspace>> {
        self.days.read()
    }
}

fn options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES)
}
