//! Where a scenario is played: its gateway, the worker that drives the client, and what is found.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use super::beat::Beat;
use super::gateway::Gateway;
use super::log::{Log, What};
use super::outgoing::Outgoing;
use super::records::record;
use super::rule::{Fault, Rule, Verdict};
use super::worker::{Gone, Worker};

/// The length of every content, in milliseconds.
pub const DUR: u64 = 600_000;
/// The time that a client has for something that it should do at once: the machine may be slow.
pub const SOON: u64 = 6_000;
/// The time that a client has for something that no rule judges.
const PATIENCE: u64 = 15_000;
/// How late an `at` may be: what the welcome and the beat took on their way. Wrong clocks are wrong by much more.
pub const CLOCK_MS: i64 = 3_000;

/// Why a scenario ended before its end.
#[derive(Debug)]
pub struct Stop(pub String);

pub type Played = Result<(), Stop>;

pub struct Stage {
    pub gateway: Rc<Gateway>,
    /// The content that is played.
    pub oid: u64,
    scenario: &'static str,
    worker: Worker,
    random: StdRng,
    verdicts: BTreeMap<&'static str, Verdict>,
}

impl Stage {
    pub fn new(gateway: Rc<Gateway>, scenario: &'static str, worker: Worker, mut random: StdRng) -> Self {
        let oid = random.random_range(1_u64 << 53..u64::MAX);
        Stage { gateway, oid, scenario, worker, random, verdicts: BTreeMap::new() }
    }

    /// The verdicts, and the worker.
    pub fn end(self) -> (BTreeMap<&'static str, Verdict>, Worker) {
        (self.verdicts, self.worker)
    }

    pub fn judge(&mut self, rule: &Rule, found: Result<(), Fault>) {
        self.verdicts.insert(rule.name, found.into());
    }

    pub fn random(&mut self, from: u64, to: u64) -> u64 {
        self.random.random_range(from..to)
    }

    /// A new client of this scenario's user, with an empty storage.
    pub async fn start(&mut self) -> Played {
        let user = self.gateway.user.to_string();
        let url = self.worker.url().await.map_err(|Gone| Stop("the harness did not ask again".to_owned()))?;
        self.instruct(json!({"do": "start", "scenario": self.scenario, "url": url, "user": user})).await
    }

    pub async fn play(&mut self) -> Played {
        self.play_content(self.oid).await
    }

    pub async fn play_content(&mut self, oid: u64) -> Played {
        self.instruct(json!({"do": "play", "kind": 1, "oid": oid.to_string(), "dur": DUR})).await
    }

    pub async fn seek(&mut self, pos: u64) -> Played {
        self.instruct(json!({"do": "seek", "pos": pos})).await
    }

    pub async fn delete(&mut self) -> Played {
        self.instruct(json!({"do": "delete", "kind": 1, "oid": self.oid.to_string()})).await
    }

    /// Something else plays in the player for so long, which then goes on where it was.
    pub async fn advertise(&mut self, milliseconds: u64) -> Played {
        self.instruct(json!({"do": "advertise", "ms": milliseconds})).await
    }

    /// `pause`, `reload`, `hide`, `clear` or `stop`.
    pub async fn does(&mut self, what: &str) -> Played {
        self.instruct(json!({"do": what})).await
    }

    async fn instruct(&mut self, instruction: Value) -> Played {
        let told = self.worker.instruct(instruction.clone()).await;
        told.map_err(|Gone| Stop(format!("the harness did not ask again after {instruction}")))
    }

    /// Starts a client that plays, and waits for its first beats.
    pub async fn start_playing(&mut self, beats: usize) -> Result<Vec<Beat>, Stop> {
        self.start().await?;
        self.play().await?;
        self.need_beats("a client that plays", 0, beats).await
    }

    pub async fn sleep(&self, milliseconds: u64) {
        sleep(Duration::from_millis(milliseconds)).await;
    }

    /// Waits until `look` finds something in the log, and returns it.
    pub async fn until<T>(&self, milliseconds: u64, look: impl Fn(&Log) -> Option<T>) -> Option<T> {
        let end = Instant::now() + Duration::from_millis(milliseconds);
        loop {
            let found = look(&self.gateway.log());
            if found.is_some() || timeout_at(end, self.gateway.changed()).await.is_err() {
                return found;
            }
        }
    }

    /// The same, where nothing can be said without it.
    pub async fn need<T>(&self, what: &str, look: impl Fn(&Log) -> Option<T>) -> Result<T, Stop> {
        self.until(PATIENCE, look).await.ok_or_else(|| Stop(format!("no {what} within {PATIENCE} ms")))
    }

    /// So many beats over sockets since the mark.
    pub async fn need_beats(&self, from: &str, mark: usize, count: usize) -> Result<Vec<Beat>, Stop> {
        let enough = |log: &Log| Some(log.after(mark).beats()).filter(|beats| beats.len() >= count);
        self.need(&format!("{count} beats from {from}"), enough).await
    }

    /// The number of the next connection that is welcomed after this one.
    pub async fn need_connection(&self, after: usize) -> Result<usize, Stop> {
        let next = |log: &Log| log.welcomed().into_iter().find(|number| *number > after);
        self.need("new connection", next).await
    }

    /// Until the client has read all that was sent, and what it had sent before is here.
    pub async fn settle(&self) {
        let pongs = |log: &Log| log.all().iter().filter(|seen| matches!(seen.what, What::Pong)).count();
        let before = pongs(&self.gateway.log());
        self.gateway.order(self.gateway.newest(), Outgoing::Ping);
        let _ = self.until(SOON, |log| (pongs(log) > before).then_some(())).await;
        self.sleep(300).await;
    }

    pub fn mark(&self) -> usize {
        self.gateway.log().len()
    }

    pub fn beats_since(&self, mark: usize) -> Vec<Beat> {
        self.gateway.log().after(mark).beats()
    }

    pub fn holds_acks(&self, holds: bool) {
        self.gateway.change(|behavior| behavior.holds_acks = holds);
    }

    pub fn step_clock(&self, milliseconds: i64) {
        self.gateway.change(|behavior| behavior.clock_step += milliseconds);
    }

    /// Sends a frame over the newest connection.
    pub fn send(&self, kind: &str, body: Value) {
        self.gateway.send(self.gateway.newest(), kind, body);
    }

    pub fn close(&self, code: u16, reason: &str) {
        self.gateway.order(self.gateway.newest(), Outgoing::Close(code, reason.to_owned()));
    }

    /// Cuts the newest connection, and returns its number.
    pub fn cut(&self) -> usize {
        let number = self.gateway.newest();
        self.gateway.order(number, Outgoing::Cut);
        number
    }

    /// A record of the content as another device has stored it, or would store it.
    pub fn other_device(&mut self, oid: u64, pos: u64, age: i64) -> Value {
        let session = self.random(1 << 53, u64::MAX).to_string();
        record(&json!({
            "kind": 1, "oid": oid.to_string(), "pos": pos, "dur": DUR, "state": "playing", "session": session,
            "watched": pos, "at": self.gateway.now() - age, "device": "tv",
        }))
    }

    /// Another device has watched until there, a minute ago. Returns where, in milliseconds.
    pub fn watched_elsewhere(&mut self) -> u64 {
        let pos = self.random(100_000, 200_000);
        let record = self.other_device(self.oid, pos, 60_000);
        self.gateway.store(&record);
        pos
    }
}
