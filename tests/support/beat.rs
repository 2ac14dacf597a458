//! Beats as a client writes them, and what is done to them to make them wrong.

use serde_json::{Value, json};

/// One beat of content (1, `oid`), 10 s into a video of unknown length, after 5 s of playback in session 1.
#[derive(Clone, Debug)]
pub struct Beat(Value);

pub fn beat(oid: u64, at: u64) -> Beat {
    Beat(json!({
        "kind": 1, "oid": oid.to_string(), "pos": 10_000, "state": "playing",
        "session": "1", "watched": 5_000, "at": at,
    }))
}

impl Beat {
    /// Any field, with any value, sensible or not.
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.0[field] = value.into();
        self
    }

    pub fn without(mut self, field: &str) -> Self {
        self.0.as_object_mut().expect("a beat").remove(field);
        self
    }

    pub fn kind(self, kind: u16) -> Self {
        self.with("kind", kind)
    }

    pub fn pos(self, pos: u64) -> Self {
        self.with("pos", pos)
    }

    pub fn dur(self, dur: u64) -> Self {
        self.with("dur", dur)
    }

    pub fn state(self, state: &str) -> Self {
        self.with("state", state)
    }

    pub fn session(self, session: u64) -> Self {
        self.with("session", session.to_string())
    }

    pub fn watched(self, watched: u64) -> Self {
        self.with("watched", watched)
    }

    pub fn json(&self) -> Value {
        self.0.clone()
    }
}

/// The body of a `beats` frame and of `POST /v1/beats` alike.
pub fn items(beats: impl IntoIterator<Item = Beat>) -> Value {
    let items: Vec<Value> = beats.into_iter().map(|beat| beat.0).collect();
    json!({ "items": items })
}

pub fn beats(beats: impl IntoIterator<Item = Beat>) -> Value {
    json!({ "beats": items(beats) })
}
