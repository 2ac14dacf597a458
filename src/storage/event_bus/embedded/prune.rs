//! Which events go, oldest first: those that were published too long ago, and those that are too much.

use std::time::Duration;

use super::codec::{self, State};
use super::tables::Tables;
use crate::storage::event_bus::BusError;
use crate::storage::event_bus::config::Config;

/// Events in one step, so that nobody waits long for it.
pub const STEP_MAX: u64 = 512;
/// Between two steps.
pub const PAUSE: Duration = Duration::from_millis(5);

pub struct Retention {
    age_ms: u64,
    bytes: u64,
}

impl Retention {
    pub fn of(config: &Config) -> Self {
        Retention { age_ms: config.retention.as_millis() as u64, bytes: config.retention_bytes }
    }
}

/// Removes what is at the beginning of it; `None` if nothing is. `now`: milliseconds since 1970.
///
/// A removal may be lost with the machine: then it is made again.
pub fn step(tables: &Tables, state: State, retention: &Retention, now: u64) -> Result<Option<State>, BusError> {
    if state.oldest > state.newest {
        return Ok(None);
    }
    let horizon = now.saturating_sub(retention.age_ms);
    let mut left = state;
    let mut batch = tables.batch();
    tables.view().entries_from(state.oldest, |offset, entry| {
        let goes = entry.time < horizon || left.bytes_kept() > retention.bytes;
        if goes {
            (left.oldest, left.removed) = (offset + 1, entry.end);
            batch.remove(&tables.entries, codec::key(offset));
        }
        goes && left.oldest - state.oldest < STEP_MAX
    })?;
    if left == state {
        return Ok(None);
    }
    tables.put_state(&mut batch, left);
    batch.commit()?;
    Ok(Some(left))
}
