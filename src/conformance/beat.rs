//! A beat as it was seen.

use serde_json::Value;

use super::number::{field, id, integer};

/// A client is without a connection for less, and the clock of the next one is further ahead.
const OFFLINE_MS_MAX: i64 = 20_000;

/// A beat on the wire, with where and when.
#[derive(Clone, Debug)]
pub struct Beat {
    /// When it arrived, in milliseconds of its scenario.
    pub ms: u64,
    /// Over which connection; 0: over HTTP.
    pub connection: usize,
    pub seq: u64,
    pub index: usize,
    /// The time of the server's clock when it arrived.
    pub now: i64,
    pub json: Value,
}

/// The identity of a beat: session and `at`.
pub type Key = (u64, i64);

/// That of a beat on the wire.
pub fn key(beat: &Value) -> Option<Key> {
    Some((id(&beat["session"])?, integer(&beat["at"])?.cast_signed()))
}

impl Beat {
    pub fn at(&self) -> i64 {
        self.number("at").map_or(-1, u64::cast_signed)
    }

    pub fn session(&self) -> u64 {
        field(&self.json, "session").and_then(id).unwrap_or_default()
    }

    pub fn oid(&self) -> u64 {
        field(&self.json, "oid").and_then(id).unwrap_or_default()
    }

    pub fn pos(&self) -> u64 {
        self.number("pos").unwrap_or_default()
    }

    pub fn state(&self) -> &str {
        self.json["state"].as_str().unwrap_or_default()
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        field(&self.json, name).and_then(integer)
    }

    pub fn key(&self) -> Key {
        (self.session(), self.at())
    }

    /// Its content, apart from its time.
    pub fn told(&self) -> (u64, u64, &str, Option<u64>) {
        (self.session(), self.pos(), self.state(), self.number("watched"))
    }

    /// Whether it says the same as another one. Two beats of one key must.
    pub fn says_the_same(&self, other: &Beat) -> bool {
        self.key() == other.key() && self.told() == other.told() && self.number("dur") == other.number("dur")
    }

    /// Whether this beat, sent after a reconnect, makes up for a lost beat of the same session: it says the same, or it was
    /// made while the client was offline. A beat made after the reconnect does not: its `at` is far ahead.
    pub fn covers(&self, lost: &Beat) -> bool {
        let later = (lost.at() + 1..lost.at() + OFFLINE_MS_MAX).contains(&self.at());
        self.session() == lost.session() && (later || self.says_the_same(lost))
    }

    /// How far its `at` is from the server's clock, in milliseconds.
    pub fn ahead(&self) -> i64 {
        self.at() - self.now
    }

    /// For a report.
    pub fn shown(&self) -> String {
        let at = format!("at {} ({:+} ms against the server's clock)", self.at(), self.ahead());
        format!("{} at {:.1} s: {} {at}", self.place(), self.ms as f64 / 1000.0, self.json)
    }

    fn place(&self) -> String {
        match self.connection {
            0 => "over HTTP".to_owned(),
            number => format!("frame {} of connection {number}", self.seq),
        }
    }
}
