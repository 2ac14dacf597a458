//! The gateway of one user: it answers as a real one does, but for what its behavior says, and writes down what it sees.

mod answers;

use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::behavior::{Admission, Behavior, INTERVAL_MS};
use super::log::{Log, Seen, What};
use super::number::day;
use super::outgoing::Outgoing;
use super::records::Records;
use super::tokens::Tokens;

/// No timer runs longer.
const LONG: Duration = Duration::from_secs(3600);

pub struct Gateway {
    pub user: u64,
    began: Instant,
    /// The time of the server's clock at `began`.
    began_at: i64,
    tokens: Rc<Tokens>,
    state: RefCell<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    behavior: Behavior,
    log: Log,
    records: Records,
    attempts: usize,
    connections: BTreeMap<usize, Connection>,
    /// Reads without an answer.
    reads: Vec<Read>,
}

struct Connection {
    out: mpsc::Sender<Outgoing>,
    name: String,
    expires: i64,
    is_welcomed: bool,
    /// After `bye` nothing is answered.
    is_leaving: bool,
}

struct Read {
    connection: usize,
    seq: u64,
    items: Value,
}

impl Gateway {
    pub fn new(user: u64, clock: i64, tokens: Rc<Tokens>) -> Self {
        let (began, state, changed) = (Instant::now(), RefCell::default(), Notify::new());
        Gateway { user, began, began_at: clock, tokens, state, changed }
    }

    /// A token of this user.
    pub fn issue(&self) -> String {
        self.see(0, What::TokenAsked);
        let life = self.state.borrow().behavior.token_seconds;
        self.tokens.issue(self.user, self.now(), life)
    }

    /// The server's clock.
    pub fn now(&self) -> i64 {
        self.began_at + self.began.elapsed().as_millis() as i64 + self.state.borrow().behavior.clock_step
    }

    pub fn ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    pub fn log(&self) -> Ref<'_, Log> {
        Ref::map(self.state.borrow(), |state| &state.log)
    }

    /// Resolves when something new was seen.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    pub fn change(&self, change: impl FnOnce(&mut Behavior)) {
        change(&mut self.state.borrow_mut().behavior);
    }

    pub fn store(&self, beat: &Value) {
        self.state.borrow_mut().records.put(beat);
    }

    /// Someone tries to connect. Returns the number of the attempt, and what becomes of it.
    pub fn attempt(&self, token: &str) -> (usize, Admission) {
        let mut state = self.state.borrow_mut();
        state.attempts += 1;
        let (number, admission) = (state.attempts, state.behavior.admission);
        drop(state);
        self.see(number, What::Attempt(token.to_owned()));
        (number, admission)
    }

    /// The attempt has its socket.
    pub fn opened(&self, number: usize, out: mpsc::Sender<Outgoing>, expires: i64) {
        let name = format!("{:08x}{number:08x}", self.user as u32);
        let connection = Connection { out, name, expires, is_welcomed: false, is_leaving: false };
        self.state.borrow_mut().connections.insert(number, connection);
    }

    pub fn welcome(&self, number: usize) {
        let now = self.now();
        let mut state = self.state.borrow_mut();
        let limits = state.behavior.limits.clone();
        let Some(connection) = state.connections.get_mut(&number) else { return };
        connection.is_welcomed = true;
        let welcome = json!({
            "mid": self.user.to_string(), "connection": connection.name, "now": now, "today": day(now),
            "interval": INTERVAL_MS, "recording": {"paused": false}, "expires": connection.expires, "limits": limits,
        });
        drop(state);
        self.see(number, What::Welcomed);
        self.send(number, "welcome", welcome);
    }

    /// Sends a frame. Adds unknown fields if the behavior asks for them.
    pub fn send(&self, number: usize, kind: &str, mut body: Value) {
        if self.state.borrow().behavior.says_more {
            body["later_version"] = json!({"of": ["the", "protocol"]});
        }
        if let Some(connection) = self.state.borrow_mut().connections.get_mut(&number) {
            connection.is_leaving |= kind == "bye";
        }
        let mut frame = json!({});
        frame[kind] = body;
        self.order(number, Outgoing::Text(frame.to_string()));
    }

    /// Has the socket do this. One that is gone does nothing.
    pub fn order(&self, number: usize, outgoing: Outgoing) {
        if let Some(connection) = self.state.borrow().connections.get(&number) {
            let _ = connection.out.try_send(outgoing);
        }
    }

    /// The newest connection.
    pub fn newest(&self) -> usize {
        self.state.borrow().connections.keys().next_back().copied().unwrap_or_default()
    }

    pub fn name(&self, number: usize) -> String {
        self.state.borrow().connections.get(&number).map(|connection| connection.name.clone()).unwrap_or_default()
    }

    pub fn until_expiry(&self, number: usize) -> Duration {
        let expires = self.state.borrow().connections.get(&number).map(|connection| connection.expires);
        expires.map_or(LONG, |at| Duration::from_millis((at - self.now()).max(0) as u64)).min(LONG)
    }

    pub fn pong(&self, number: usize) {
        self.see(number, What::Pong);
    }

    pub fn closed(&self, number: usize) {
        self.state.borrow_mut().connections.remove(&number);
        self.see(number, What::Closed);
    }

    pub fn malformed(&self, number: usize, why: String) {
        self.see(number, What::Malformed(why));
    }

    /// Writes down what was seen.
    pub fn see(&self, connection: usize, what: What) {
        let (ms, now) = (self.ms(), self.now());
        self.state.borrow_mut().log.push(Seen { ms, connection, now, what });
        self.changed.notify_waiters();
    }
}
