//! Rules on read: the store keeps the raw position, and what it means is computed when it is shown.

use serde::Deserialize;

use super::record::Record;

/// When a content counts as finished, and from where resuming is worth it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Below this share of the length (0–1) playback starts from the beginning.
    pub resume_below: f64,
    /// From this share of the length (0–1) on a content is finished.
    pub finished_at: f64,
    /// Kinds of which neither holds: live streams, articles.
    pub kinds_without_end: Vec<u16>,
}

/// What a record means to somebody who wants to go on watching.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Share of the length (0–1), cut off behind the third decimal; `None` when the length is unknown.
    pub share: Option<f64>,
    pub finished: bool,
    /// Where to go on, milliseconds.
    pub resume: u64,
}

impl Reading {
    pub fn progress(&self, record: &Record) -> Progress {
        // What follows from it follows from what is shown. More than three decimals nobody can see.
        let thousandths = record.pos.saturating_mul(1000).checked_div(record.dur);
        let share = thousandths.map(|thousandths| thousandths.min(1000) as f64 / 1000.0);
        if self.kinds_without_end.contains(&record.content.kind) {
            return Progress { share, finished: false, resume: record.pos };
        }
        let ended = record.state == super::beat::State::Ended;
        let finished = ended || share.is_some_and(|share| share >= self.finished_at);
        let early = share.is_some_and(|share| share < self.resume_below);
        Progress { share, finished, resume: if finished || early { 0 } else { record.pos } }
    }
}
