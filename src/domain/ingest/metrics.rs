//! The metrics of a beat's way to its answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::coalesce::Entry;
use super::submit_queue::SubmitQueue;
use model::change::Outcome;
use model::rule::{Reason, Verdict};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    outcome: &'static str,
}

/// One counter for each answer to a beat, looked up once and not per beat.
#[derive(Clone)]
pub struct Beats {
    written: Counter,
    same: Counter,
    covered: Counter,
    invalid: Counter,
    clock: Counter,
    expired: Counter,
    not_started: Counter,
    not_recording: Counter,
    superseded: Counter,
}

#[derive(Clone)]
pub struct Metrics {
    pub beats: Beats,
    group_slots: Histogram,
    commit_seconds: Histogram,
    ack_seconds: Histogram,
    /// Steady beats that waited for later ones.
    pub held: Counter,
    pub(super) listener_panics: Counter,
}

impl Beats {
    fn new(registry: &mut Registry) -> Self {
        let family = Family::<Labels, Counter>::default();
        let counter = |outcome| family.get_or_create(&Labels { outcome }).clone();
        let beats = Beats {
            written: counter("written"),
            same: counter("same"),
            covered: counter("covered"),
            invalid: counter("invalid"),
            clock: counter("clock"),
            expired: counter("expired"),
            not_started: counter("not_started"),
            not_recording: counter("not_recording"),
            superseded: counter("superseded"),
        };
        registry.register("beats", "Beats by answer; covered: merged into a newer beat of its slot", family);
        beats
    }

    pub fn rejected(&self, reason: Reason) {
        match reason {
            Reason::Invalid => self.invalid.inc(),
            Reason::Clock => self.clock.inc(),
            Reason::Expired => self.expired.inc(),
            Reason::NotStarted => self.not_started.inc(),
            Reason::NotRecording => self.not_recording.inc(),
            Reason::Superseded => self.superseded.inc(),
        };
    }
}

impl Metrics {
    pub fn new(registry: &mut Registry) -> Self {
        let metrics = Metrics {
            beats: Beats::new(registry),
            group_slots: Histogram::new([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 4096.0]),
            commit_seconds: Histogram::new(seconds()),
            ack_seconds: Histogram::new(seconds()),
            held: Counter::default(),
            listener_panics: Counter::default(),
        };
        registry.register("commit_group_slots", "Slots and operations in one group", metrics.group_slots.clone());
        registry.register("commit_seconds", "Time to write and sync one group", metrics.commit_seconds.clone());
        let meaning = "From reading a slot's first beat to its commit; from the end of its hold if it was held, so without the hold";
        registry.register("ack_seconds", meaning, metrics.ack_seconds.clone());
        let meaning = "Steady beats that waited for later ones of their session (store.steady_hold)";
        registry.register("beats_held", meaning, metrics.held.clone());
        let meaning = "Panics of commit listeners; each loses what one of them had to do for one group";
        registry.register("commit_listener_panics", meaning, metrics.listener_panics.clone());
        metrics
    }

    /// To be called right after the commit of the group: the clock is read once for all of it.
    pub(super) fn observe(&self, entries: &[Entry], outcomes: &[Outcome]) {
        let now = Instant::now();
        let (mut written, mut covered) = (0, 0_usize);
        for (entry, outcome) in entries.iter().zip(outcomes) {
            let (Entry::Slot(slot), Outcome::Beat { verdict, skipped }) = (entry, outcome) else { continue };
            match verdict {
                Verdict::Written { .. } => written += 1,
                Verdict::Same => drop(self.beats.same.inc()),
                Verdict::Rejected { reason, .. } => self.beats.rejected(*reason),
            }
            (0..*skipped).for_each(|_| self.beats.rejected(Reason::NotRecording));
            covered += slot.beats() - 1 - skipped;
            self.ack_seconds.observe(now.saturating_duration_since(slot.opened).as_secs_f64());
        }
        self.group_slots.observe(entries.len() as f64);
        self.beats.written.inc_by(written);
        self.beats.covered.inc_by(covered as u64);
    }

    pub(super) fn committed(&self, took: Duration) {
        self.commit_seconds.observe(took.as_secs_f64());
    }
}

/// The entries that wait in all submit queues, counted at each scrape: slots and orders wait for their commit, steady
/// beats for later ones.
#[derive(Debug)]
pub struct WaitingEntries(pub Vec<Arc<SubmitQueue>>);

impl Collector for WaitingEntries {
    fn encode(&self, mut encoder: DescriptorEncoder) -> std::fmt::Result {
        let mut gauge = |name, help, count: fn(&SubmitQueue) -> usize| {
            let waiting: usize = self.0.iter().map(|submit_queue| count(submit_queue)).sum();
            let gauge = ConstGauge::new(waiting as i64);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        gauge("uncommitted_slots", "Slots and operations that wait for their commit", SubmitQueue::len)?;
        gauge("held_beats", "Steady beats that are held now (store.steady_hold)", SubmitQueue::held)
    }
}

/// From 0.1 ms to 10 s.
fn seconds() -> impl Iterator<Item = f64> {
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0].into_iter()
}
