//! The published set of keys (`auth.jwks_url`): fetched at the start, when its time is over, and when a token names an
//! unknown key.
//!
//! ```text
//!                     ┌ max-age or auth.jwks_refresh is over ┐
//! start ─▶ fetch ─▶ keys in force, kept in the data directory ─▶ fetch ─▶ …
//!                     └ a token with an unknown kid, once a minute ┘
//! ```
//!
//! **Failure.** The last good set stays in force, and the fetch is tried again, at first after a second, at last every
//! minute. A start takes the set that was kept of the same URL if there is no answer.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};

use super::key_set::{self, KeySet};
use super::keyring::CheckingKey;
use model::backoff::Backoff;

/// From the request to the end of its answer. A token that names an unknown key waits for so long at most.
pub const FETCH_MAX: Duration = Duration::from_secs(5);
/// Bytes of a set.
pub const SET_BYTES_MAX: usize = 1 << 20;
/// From one fetch for an unknown `kid` to the next: a client can name any.
const UNKNOWN_EVERY: Duration = Duration::from_mins(1);
/// The bounds of what an answer may say about its age.
const AGE_MIN: Duration = Duration::from_mins(1);
const AGE_MAX: Duration = Duration::from_hours(24);
const RETRY: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(1));
const KEPT: &str = "jwks.json";

/// An answer of the URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    pub text: String,
    /// For how long the set is good, if the answer says so (`Cache-Control: max-age`).
    pub max_age: Option<Duration>,
}

/// Fetches the set, or says why that failed. The caller has a time limit.
pub type Fetch = Box<dyn Fn() -> BoxFuture<'static, Result<Published, String>> + Send + Sync>;

/// The set of one URL. Shared by the task that fetches and the threads that check tokens.
pub struct KeyUrl {
    url: String,
    fetch: Fetch,
    refresh: Duration,
    kept: PathBuf,
    progress: Mutex<Progress>,
    asked: Notify,
    /// The fetches that have ended.
    ended: watch::Sender<u64>,
    fetches: Family<Labels, Counter>,
}

#[derive(Default)]
struct Progress {
    is_fetching: bool,
    unknown_asked: Option<Instant>,
    /// When the set in force was published, milliseconds since 1970 by the wall clock.
    fetched_at: Option<u64>,
    /// Why the last fetch failed.
    failure: Option<String>,
}

/// The last good answer, as it is kept.
#[derive(Deserialize, Serialize)]
struct Kept {
    url: String,
    /// Milliseconds since 1970 by the wall clock.
    fetched_at: u64,
    set: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    result: &'static str,
}

impl KeyUrl {
    /// `refresh`: how long an answer is good that does not say it. `data_dir`: where the last good set is kept.
    pub fn new(url: &str, refresh: Duration, data_dir: &Path, fetch: Fetch) -> Arc<Self> {
        Arc::new(KeyUrl {
            url: url.to_owned(),
            fetch,
            refresh,
            kept: data_dir.join(KEPT),
            progress: Mutex::default(),
            asked: Notify::new(),
            ended: watch::Sender::new(0),
            fetches: Family::default(),
        })
    }

    /// Fetches for ever. Blocks while it reads or writes the kept set. `accept` puts keys in force and returns how many keys
    /// there are then; `wall` is the wall clock, milliseconds since 1970.
    pub async fn run(&self, accept: impl Fn(Vec<CheckingKey>) -> usize, wall: impl Fn() -> u64) {
        let mut retry = RETRY;
        loop {
            self.progress.lock().is_fetching = true;
            let answer = timeout(FETCH_MAX, (self.fetch)()).await;
            let answer = answer.unwrap_or_else(|_| Err(format!("no whole answer within {FETCH_MAX:?}")));
            let pause = match answer.and_then(|answer| Ok((key_set::of_url(&answer.text)?, answer))) {
                Ok((set, answer)) => {
                    retry.succeeded();
                    let now = wall();
                    self.keep(&answer.text, now);
                    self.succeeded(set, now, &accept);
                    answer.max_age.map_or(self.refresh, |age| age.clamp(AGE_MIN, AGE_MAX))
                }
                Err(why) => {
                    self.failed(why);
                    if !self.has_keys() {
                        self.recall(&accept);
                    }
                    retry.failed_with_jitter(rand::random())
                }
            };
            self.end_fetch();
            tokio::select! {
                () = sleep(pause) => {}
                () = self.asked.notified() => {}
            }
        }
    }

    /// Tokens that ask from now on wait for the next fetch.
    fn end_fetch(&self) {
        let mut progress = self.progress.lock();
        progress.is_fetching = false;
        self.ended.send_modify(|ended| *ended += 1);
    }

    /// Has it fetched soon, whatever its age.
    pub fn ask(&self) {
        self.asked.notify_one();
    }

    /// Has it fetched for a token that names an unknown key. Returns what to wait for; `None` if that was done less than a
    /// minute ago.
    pub fn ask_for_unknown(&self) -> Option<BoxFuture<'static, ()>> {
        let mut progress = self.progress.lock();
        let mut ended = self.ended.subscribe();
        if !progress.is_fetching {
            let now = Instant::now();
            if progress.unknown_asked.is_some_and(|asked| now.duration_since(asked) < UNKNOWN_EVERY) {
                return None;
            }
            progress.unknown_asked = Some(now);
            // Tokens of the next moment wait for the same answer.
            progress.is_fetching = true;
            self.asked.notify_one();
        }
        Some(Box::pin(async move {
            let _ = timeout(FETCH_MAX, ended.changed()).await;
        }))
    }

    /// Whether a set is in force.
    pub fn has_keys(&self) -> bool {
        self.progress.lock().fetched_at.is_some()
    }

    /// Resolves once a set is in force.
    pub async fn first(&self) {
        let mut ended = self.ended.subscribe();
        while !self.has_keys() {
            // The sender lives as long as this.
            let _ = ended.changed().await;
        }
    }

    /// The reason why there is no fresh set, if so.
    pub fn trouble(&self) -> Option<String> {
        let progress = self.progress.lock();
        let (url, why) = (&self.url, progress.failure.as_ref()?);
        Some(match progress.fetched_at {
            Some(_) => format!("auth.jwks_url: {url}: {why}; the last good keys are in force"),
            None => format!("auth.jwks_url: {url}: {why}; no token can be checked"),
        })
    }

    /// When the set in force was published, milliseconds since 1970.
    pub fn fetched_at(&self) -> Option<u64> {
        self.progress.lock().fetched_at
    }

    pub fn register(&self, registry: &mut Registry) {
        for result in ["ok", "failed"] {
            drop(self.fetches.get_or_create(&Labels { result }));
        }
        registry.register("jwks_fetches", "Fetches of auth.jwks_url, by result", self.fetches.clone());
    }

    fn succeeded(&self, set: KeySet, now: u64, accept: &impl Fn(Vec<CheckingKey>) -> usize) {
        self.fetches.get_or_create(&Labels { result: "ok" }).inc();
        if let Some(warning) = set.warning(&format!("auth.jwks_url: {}", self.url)) {
            tracing::warn!(event = "keys_skipped", "{warning}");
        }
        let keys = accept(set.keys);
        tracing::info!(event = "keys_fetched", keys, "keys fetched");
        let mut progress = self.progress.lock();
        (progress.fetched_at, progress.failure) = (Some(now), None);
    }

    fn failed(&self, why: String) {
        self.fetches.get_or_create(&Labels { result: "failed" }).inc();
        let mut progress = self.progress.lock();
        if progress.failure.as_ref() != Some(&why) {
            let url = &self.url;
            tracing::error!(event = "keys_fetch_failed", url, why, "cannot fetch keys; keeping the current ones");
        }
        progress.failure = Some(why);
    }

    /// Puts the kept set in force, if it is of this URL.
    fn recall(&self, accept: &impl Fn(Vec<CheckingKey>) -> usize) {
        let text = fs::read_to_string(&self.kept).unwrap_or_default();
        let Ok(kept) = serde_json::from_str::<Kept>(&text) else { return };
        if let (true, Ok(set)) = (kept.url == self.url, key_set::of_url(&kept.set)) {
            let keys = accept(set.keys);
            tracing::warn!(event = "keys_recalled", keys, "the kept keys are in force until auth.jwks_url answers");
            self.progress.lock().fetched_at = Some(kept.fetched_at);
        }
    }

    /// A set that cannot be kept is used all the same.
    fn keep(&self, text: &str, now: u64) {
        let kept = Kept { url: self.url.clone(), fetched_at: now, set: text.to_owned() };
        let text = serde_json::to_string(&kept).expect("text and numbers");
        let part = self.kept.with_extension("part");
        let kept = fs::write(&part, text).and_then(|()| fs::rename(&part, &self.kept));
        if let Err(error) = kept {
            tracing::warn!(event = "keys_not_kept", %error, "fetched keys cannot be kept in the data directory");
        }
    }
}

#[cfg(test)]
#[path = "key_url_tests.rs"]
mod tests;
