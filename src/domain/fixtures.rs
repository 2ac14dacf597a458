//! Fixtures for the tests of this crate and of those above.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use prometheus_client::registry::Registry;
use tokio::sync::watch;

use crate::devices::presence::Presence;
use crate::revocations::{Revocations, Unchanged};
use crate::time::clock::{self, Clock};
use crate::time::guard::{ClockGuard, ClockStatus};
use model::event_page::LogPart;
use model::revocation::{Revocation, Revoked};
use storage::device_channel::Alone;
use storage::event_bus::{BusError, EventLog};
use storage::hot_store::{Answer, StoreError};
use storage::revocation_list::{Edition, REVOCATIONS_MAX, RevocationList};

const STEP_MAX: Duration = Duration::from_secs(300);

/// A log in memory: event N is `{"n":N}`.
pub struct MemoryLog {
    events: watch::Sender<u64>,
    pub away: Mutex<bool>,
}

impl MemoryLog {
    pub fn with(events: u64) -> Arc<Self> {
        Arc::new(MemoryLog { events: watch::Sender::new(events), away: Mutex::default() })
    }

    pub fn add(&self) {
        self.events.send_modify(|events| *events += 1);
    }
}

impl EventLog for MemoryLog {
    fn read(&self, after: u64, limit: usize) -> BoxFuture<'static, Result<LogPart, BusError>> {
        let away = *self.away.lock();
        let newest = *self.events.borrow();
        let events = (1..=newest).skip_while(move |offset| *offset <= after).take(limit);
        let events = events.map(|offset| (offset, format!(r#"{{"n":{offset}}}"#))).collect();
        Box::pin(async move {
            if away { Err(BusError("a test".into())) } else { Ok(LogPart { events, newest, log: "a1".into() }) }
        })
    }

    fn newest(&self) -> watch::Receiver<u64> {
        self.events.subscribe()
    }
}

/// A list in memory. It fails while `broken` is set.
#[derive(Clone, Default)]
pub struct MemoryRevocations {
    pub kept: Arc<Mutex<(Edition, Vec<Revocation>)>>,
    pub broken: Arc<AtomicBool>,
}

impl MemoryRevocations {
    fn open(&self) -> Result<MutexGuard<'_, (Edition, Vec<Revocation>)>, Unchanged> {
        match self.broken.load(Ordering::Relaxed) {
            true => Err(Unchanged::Broken { place: "in memory".to_owned(), why: "is full".to_owned() }),
            false => Ok(self.kept.lock()),
        }
    }

    pub fn count(&self) -> usize {
        self.kept.lock().1.len()
    }
}

impl RevocationList for MemoryRevocations {
    fn load(&self, known: Option<Edition>) -> Result<Option<(Edition, Vec<Revocation>)>, Unchanged> {
        let kept = self.open()?;
        Ok((known != Some(kept.0)).then(|| kept.clone()))
    }

    fn add(&self, revocation: &Revocation, now_ms: u64) -> Result<Revocation, Unchanged> {
        let mut kept = self.open()?;
        kept.1.retain(|other| other.what != revocation.what && other.holds(now_ms));
        if kept.1.len() >= REVOCATIONS_MAX {
            return Err(Unchanged::Full);
        }
        kept.1.push(revocation.clone());
        kept.0 += 1;
        Ok(revocation.clone())
    }

    fn remove(&self, what: &Revoked, upto_ms: u64) -> Result<(), Unchanged> {
        let mut kept = self.open()?;
        kept.1.retain(|other| other.what != *what || other.at_ms > upto_ms);
        kept.0 += 1;
        Ok(())
    }
}

/// A list that cannot be read again.
pub fn revocations_in_memory(presence: Arc<Presence>) -> Revocations {
    Revocations::open(presence, Box::new(MemoryRevocations::default()), Arc::new(Alone), None).expect("an empty list")
}

/// The status measured against a store whose clock is ahead of this machine's by `ahead`; `None` = it is away.
pub async fn measured(ahead: Option<i64>) -> ClockStatus {
    let tell = move || -> Answer<Option<u64>> {
        Box::pin(async move {
            let ahead = ahead.ok_or_else(|| StoreError::Away("a test".to_owned()))?;
            Ok(Some(clock::wall().saturating_add_signed(ahead)))
        })
    };
    let clock_guard = ClockGuard::new(tell, Arc::new(Clock::starting_at(0, STEP_MAX)), &mut Registry::default());
    clock_guard.look().await;
    clock_guard.clock_status()
}

/// The status of a clock that believes a wall clock which has shown `wall`.
pub fn believing(wall: u64) -> ClockStatus {
    let clock = Arc::new(Clock::believing(wall, STEP_MAX));
    ClockGuard::new(|| Box::pin(async { Ok(None) }), clock, &mut Registry::default()).clock_status()
}
