//! Recounts by name, kept for a day.

use std::collections::BTreeMap;

use crate::hot_store::codec::DecodeError;
use crate::hot_store::counters::CounterTables;
use crate::hot_store::tables::ReadError;
use fjall::{OwnedWriteBatch, Readable, Snapshot};
use model::counters::{CounterId, RecountJob as Job, RecountState};

/// All recounts that are kept, by their names. What has ended is stored.
#[derive(Default)]
pub struct Jobs(BTreeMap<String, Job>);

impl Jobs {
    /// One that was running when the process ended has failed.
    pub fn read(tables: &CounterTables, snapshot: &Snapshot) -> Result<Self, ReadError> {
        let mut jobs = BTreeMap::new();
        for entry in snapshot.iter(&tables.jobs) {
            let (name, value) = entry.into_inner()?;
            let malformed = || DecodeError::of("a recount".to_owned());
            let name = std::str::from_utf8(&name).map_err(|_| malformed())?.to_owned();
            let mut job: Job = serde_json::from_slice(&value).map_err(|_| malformed())?;
            if job.is_running() {
                job.recount.state = RecountState::Failed;
            }
            jobs.insert(name, job);
        }
        Ok(Jobs(jobs))
    }

    pub fn get(&self, name: &str, now: u64) -> Option<&Job> {
        self.0.get(name).filter(|job| job.is_kept(now))
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Job> {
        self.0.get_mut(name)
    }

    /// The name of one that has not ended.
    pub fn running_of(&self, counter: &CounterId) -> Option<&str> {
        let running = self.0.iter().find(|(_, job)| job.counter == *counter && job.is_running());
        running.map(|(name, _)| name.as_str())
    }

    /// Adds one, and lets those go that are too old.
    pub fn add(&mut self, batch: &mut OwnedWriteBatch, tables: &CounterTables, name: String, job: Job) {
        for name in Job::gone(&self.0, job.began) {
            self.0.remove(&name);
            batch.remove(&tables.jobs, name);
        }
        self.0.insert(name.clone(), job);
        self.put(batch, tables, &name);
    }

    pub fn put(&self, batch: &mut OwnedWriteBatch, tables: &CounterTables, name: &str) {
        if let Some(job) = self.0.get(name) {
            batch.insert(&tables.jobs, name, serde_json::to_vec(job).expect("a recount is JSON"));
        }
    }
}
