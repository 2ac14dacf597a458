//! Removes events, the oldest first, while they are too old or the log is too large.
//!
//! Removed events cannot be read any more at once; files are removed segment by segment.

use super::codec::State;
use super::error::LogError;
use super::segments::Length;
use super::tables::{Tables, View};
use storage::event_bus::Offset;
use storage::event_bus::config::Config;

pub struct Retention {
    age_ms: u64,
    bytes: u64,
    segment: Length,
}

impl Retention {
    pub fn of(config: &Config) -> Self {
        Retention {
            age_ms: config.retention.as_millis() as u64,
            bytes: config.retention_bytes,
            segment: Length::of(config),
        }
    }

    /// Removes events at `now` (milliseconds since 1970; 0 = nothing is too old), and returns the new state. It may be
    /// lost with the machine, and is repeated then; but a file is removed only once the new state is durable.
    pub fn apply(&self, tables: &Tables, state: State, now: u64) -> Result<State, LogError> {
        let view = tables.view();
        let left = self.left(&view, state, now)?;
        let whole = left.oldest > left.newest && self.is_long_enough(&view, tables, &left, now)?;
        let ended = tables.segments.before(left.oldest, whole);
        if left != state || !ended.is_empty() {
            let mut batch = if ended.is_empty() { tables.batch() } else { tables.durable_batch(1) };
            tables.put_state(&mut batch, left);
            batch.commit()?;
        }
        for first in ended {
            tables.segments.remove(first)?;
        }
        Ok(left)
    }

    /// Whether the newest segment is long enough, so that the next event should begin another one.
    pub fn is_long_enough(&self, view: &View, tables: &Tables, state: &State, now: u64) -> Result<bool, LogError> {
        let Some((first, _)) = tables.segments.newest() else { return Ok(true) };
        let begun = view.entry(first, |entry| (entry.begin(), entry.time))?;
        Ok(begun.is_some_and(|(begin, time)| {
            self.segment.is_reached(state.written.saturating_sub(begin), now.saturating_sub(time))
        }))
    }

    /// The state without the events beyond the retention. Age and size only grow towards the beginning, so the first
    /// event to keep is found by binary search.
    fn left(&self, view: &View, state: State, now: u64) -> Result<State, LogError> {
        let horizon = now.saturating_sub(self.age_ms);
        let goes = |offset: Offset| {
            let entry = view.entry(offset, |entry| {
                entry.time < horizon || state.written.saturating_sub(entry.begin()) > self.bytes
            })?;
            entry.ok_or_else(|| LogError(format!("event {offset} is missing")))
        };
        let (mut left, mut stays) = (state, state.newest + 1);
        // The usual case takes one look.
        let mut next = state.oldest;
        while left.oldest < stays {
            if goes(next)? {
                left.oldest = next + 1;
            } else {
                stays = next;
            }
            next = left.oldest + (stays - left.oldest) / 2;
        }
        Ok(left)
    }
}
