//! Rules on read: the store keeps the raw position; finished, resume and progress are computed at each read.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::beat::State;
use super::record::Record;

/// When a content counts as finished, and from where resuming is worth it. Each setting is explained, with its default,
/// in `deploy/heartline.toml`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Share of the length (0–1).
    pub resume_below: f64,
    /// Zero = no bound.
    #[serde(with = "humantime_serde")]
    pub resume_below_max: Duration,
    /// Share of the length (0–1).
    pub finished_at: f64,
    /// Zero = no bound.
    #[serde(with = "humantime_serde")]
    pub finished_remaining_max: Duration,
    /// One at most of each kind.
    pub overrides: Vec<KindOverride>,
}

/// The settings of one kind of content. Those left out are the general ones.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct KindOverride {
    pub kind: u16,
    /// False: the kind has no thresholds.
    #[serde(default = "with_thresholds")]
    pub thresholds: bool,
    pub resume_below: Option<f64>,
    #[serde(default, with = "humantime_serde")]
    pub resume_below_max: Option<Duration>,
    pub finished_at: Option<f64>,
    #[serde(default, with = "humantime_serde")]
    pub finished_remaining_max: Option<Duration>,
}

/// The thresholds of one kind of content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Share of the length (0–1) below which playback starts from the beginning.
    pub resume_below: f64,
    /// From this position on (milliseconds) playback resumes, however long the content is.
    resume_below_max: u64,
    /// Share of the length (0–1) from which on a content is finished.
    pub finished_at: f64,
    /// While more than this is left (milliseconds) a content is not finished, however long it is.
    finished_remaining_max: u64,
}

/// The progress of a record, for a viewer who wants to continue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Share of the length (0–1), cut off after the third decimal; `None` when the length is unknown.
    pub share: Option<f64>,
    pub finished: bool,
    /// Where to go on, milliseconds.
    pub resume: u64,
}

#[cfg(any(test, feature = "fixtures"))]
impl Reading {
    /// A content is finished at its end, and resumes from wherever it was left.
    pub fn without_thresholds() -> Self {
        Reading {
            resume_below: 0.0,
            resume_below_max: Duration::ZERO,
            finished_at: 1.0,
            finished_remaining_max: Duration::ZERO,
            overrides: Vec::new(),
        }
    }
}

impl Reading {
    pub fn progress(&self, record: &Record) -> Progress {
        // The thresholds are judged by the share as it is shown, so that a client can tell why. Three decimals are
        // enough.
        let thousandths = record.pos.saturating_mul(1000).checked_div(record.dur);
        let share = thousandths.map(|thousandths| thousandths.min(1000) as f64 / 1000.0);
        let judged = share.zip(self.thresholds(record.content.kind));
        let played = judged.is_some_and(|(share, thresholds)| thresholds.is_finished(share, record));
        let finished = played || record.state == State::Ended;
        let early = judged.is_some_and(|(share, thresholds)| thresholds.is_early(share, record));
        Progress { share, finished, resume: if finished || early { 0 } else { record.pos } }
    }

    /// `None`: the kind has none.
    pub fn thresholds(&self, kind: u16) -> Option<Thresholds> {
        let of_kind = self.overrides.iter().find(|of_kind| of_kind.kind == kind);
        if of_kind.is_some_and(|of_kind| !of_kind.thresholds) {
            return None;
        }
        let resume_max = of_kind.and_then(|of_kind| of_kind.resume_below_max).unwrap_or(self.resume_below_max);
        let remaining_max = of_kind.and_then(|of_kind| of_kind.finished_remaining_max);
        Some(Thresholds {
            resume_below: of_kind.and_then(|of_kind| of_kind.resume_below).unwrap_or(self.resume_below),
            resume_below_max: bound(resume_max),
            finished_at: of_kind.and_then(|of_kind| of_kind.finished_at).unwrap_or(self.finished_at),
            finished_remaining_max: bound(remaining_max.unwrap_or(self.finished_remaining_max)),
        })
    }
}

impl Thresholds {
    fn is_early(&self, share: f64, record: &Record) -> bool {
        share < self.resume_below && record.pos < self.resume_below_max
    }

    fn is_finished(&self, share: f64, record: &Record) -> bool {
        share >= self.finished_at && record.dur.saturating_sub(record.pos) <= self.finished_remaining_max
    }
}

/// In milliseconds.
fn bound(duration: Duration) -> u64 {
    if duration.is_zero() { u64::MAX } else { duration.as_millis().try_into().unwrap_or(u64::MAX) }
}

fn with_thresholds() -> bool {
    true
}
