//! All that was seen of a client during a scenario, in its order.

use std::collections::BTreeSet;

use serde_json::Value;

use super::beat::{Beat, Key};
use super::number::integer;

#[derive(Clone, Debug)]
pub struct Seen {
    /// Since the scenario began.
    pub ms: u64,
    /// Attempts to connect are numbered from 1; 0 is what belongs to none.
    pub connection: usize,
    /// The time of the server's clock.
    pub now: i64,
    pub what: What,
}

#[derive(Clone, Debug)]
pub enum What {
    /// An attempt to connect, with this token.
    Attempt(String),
    /// A token was asked for.
    TokenAsked,
    /// The connection was welcomed.
    Welcomed,
    Frame(Value),
    /// Something that is no frame, and why.
    Malformed(String),
    /// A URL that has a query.
    Query(String),
    Pong,
    Closed,
    /// `method path`, and the body with its length in bytes.
    Request(String, Value, usize),
}

/// A request of `POST /v1/beats`.
#[derive(Clone, Debug)]
pub struct Post {
    pub body: Value,
    pub beats: Vec<Beat>,
    pub bytes: usize,
}

#[derive(Debug, Default)]
pub struct Log(Vec<Seen>);

impl Log {
    pub fn push(&mut self, seen: Seen) {
        self.0.push(seen);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn all(&self) -> &[Seen] {
        &self.0
    }

    /// The rest of the log, after its first `mark` entries.
    pub fn after(&self, mark: usize) -> Log {
        Log(self.0.iter().skip(mark).cloned().collect())
    }

    /// Frames with their connections.
    pub fn frames(&self) -> impl Iterator<Item = (&Seen, &Value)> {
        self.0.iter().filter_map(|seen| match &seen.what {
            What::Frame(frame) => Some((seen, frame)),
            _ => None,
        })
    }

    /// Frames of beats over sockets.
    pub fn beat_frames(&self) -> impl Iterator<Item = (&Seen, &Value)> {
        self.frames().filter(|(_, frame)| frame.get("beats").is_some())
    }

    /// Beats over sockets.
    pub fn beats(&self) -> Vec<Beat> {
        self.beat_frames()
            .flat_map(|(seen, frame)| beats(seen, frame["seq"].as_u64(), &frame["beats"]["items"]))
            .collect()
    }

    /// Those of one connection.
    pub fn beats_of(&self, connection: usize) -> Vec<Beat> {
        self.beats().into_iter().filter(|beat| beat.connection == connection).collect()
    }

    pub fn keys(&self) -> BTreeSet<Key> {
        self.beats().iter().map(Beat::key).collect()
    }

    /// Requests of `POST /v1/beats`.
    pub fn posts(&self) -> Vec<Post> {
        let posts = self.0.iter().filter_map(|seen| match &seen.what {
            What::Request(line, body, bytes) if line == "POST /v1/beats" => {
                Some(Post { body: body.clone(), beats: beats(seen, None, &body["items"]), bytes: *bytes })
            }
            _ => None,
        });
        posts.collect()
    }

    /// Attempts to connect: the number, the time and the token of each.
    pub fn attempts(&self) -> Vec<(usize, u64, &str)> {
        let attempts = self.0.iter().filter_map(|seen| match &seen.what {
            What::Attempt(token) => Some((seen.connection, seen.ms, token.as_str())),
            _ => None,
        });
        attempts.collect()
    }

    /// When tokens were asked for.
    pub fn tokens_asked(&self) -> Vec<u64> {
        let asked = self.0.iter().filter(|seen| matches!(seen.what, What::TokenAsked));
        asked.map(|seen| seen.ms).collect()
    }

    /// The connections that were welcomed.
    pub fn welcomed(&self) -> Vec<usize> {
        let welcomed = self.0.iter().filter(|seen| matches!(seen.what, What::Welcomed));
        welcomed.map(|seen| seen.connection).collect()
    }

    /// The `at` with which something was removed for the first time: by a frame of that operation, or by a request, which may
    /// be without one.
    pub fn removed_at(&self, operation: &str, is_request: impl Fn(&str) -> bool) -> Option<Option<u64>> {
        self.0.iter().find_map(|seen| match &seen.what {
            What::Frame(frame) => frame.get(operation).map(|body| integer(&body["at"])),
            What::Request(line, ..) => {
                let (path, query) = line.split_once('?').unwrap_or((line, ""));
                let at = query.split('&').find_map(|pair| pair.strip_prefix("at=")?.parse().ok());
                is_request(path).then_some(at)
            }
            _ => None,
        })
    }

    /// How often it was asked where the viewer was.
    pub fn reads(&self) -> usize {
        let is_read = |seen: &&Seen| match &seen.what {
            What::Frame(frame) => frame.get("get").is_some() || frame.get("list").is_some(),
            What::Request(line, ..) => line.contains("/v1/history"),
            _ => false,
        };
        self.0.iter().filter(is_read).count()
    }
}

fn beats(seen: &Seen, seq: Option<u64>, items: &Value) -> Vec<Beat> {
    let beat = |(index, json): (usize, &Value)| Beat {
        ms: seen.ms,
        connection: seen.connection,
        seq: seq.unwrap_or_default(),
        index,
        now: seen.now,
        json: json.clone(),
    };
    items.as_array().into_iter().flatten().enumerate().map(beat).collect()
}
