//! Frames that a random client may send.

use std::time::Duration;

use heartline::domain::ingest::submit_queue::SubmitQueue;
use heartline::model::ids::UserId;
use rand::RngExt;
use rand::rngs::SmallRng;

use crate::conversation::gateway::{Gateway, ITEMS};
use crate::conversation::peer::TOKEN_LIFE;
use crate::conversation::text::{beat, beats, clear, delete, get, hello, list, padded, token};
use crate::conversation::time::BEGIN;
use crate::conversation::witness::Kind;

/// Beats of one frame, for most frames.
const BEATS: u64 = 4;
const CONTENTS: u64 = 4;
/// Where the moments of beats begin, and of those that come too late.
const PLAYED: u64 = BEGIN - 1_000_000;
const PLAYED_BEFORE: u64 = BEGIN - 2_000_000;
const NONSENSE: [&str; 4] = ["{", "[]", "{}", r#"{"beats":{"items":[]}}"#];

pub struct Script {
    user: UserId,
    seq: u32,
    /// Moments so far, of all connections of the user: each beat and order is newer than those before it.
    made: u64,
}

pub struct Said {
    pub text: String,
    /// What an answer carries.
    pub seq: Option<u32>,
    pub kind: Kind,
}

impl Script {
    /// `made`: moments of the user before this connection.
    pub fn new(user: UserId, seq: u32, made: u64) -> Self {
        Script { user, seq, made }
    }

    pub fn made(&self) -> u64 {
        self.made
    }

    pub fn next(&mut self, rng: &mut SmallRng, gateway: &Gateway) -> Said {
        let before = self.seq;
        self.seq = self.seq.saturating_add(rng.random_range(1..3));
        let seq = self.seq;
        if seq == before || rng.random_bool(0.03) {
            self.seq = before;
            let seq = rng.random_range(0..=before);
            // A number of 0 is none.
            return Said { text: get(seq, &[1]), seq: (seq > 0).then_some(seq), kind: Kind::Bad };
        }
        self.made += 1;
        let at = PLAYED + self.made;
        let oids = [rng.random_range(0..CONTENTS), rng.random_range(0..CONTENTS)];
        let (text, kind) = match rng.random_range(0..100) {
            0..55 => self.beats(seq, rng),
            55..65 => (get(seq, &oids), Kind::Get),
            65..72 => (list(seq), Kind::List),
            72..82 => (delete(seq, &oids, at), Kind::Order(at)),
            82..84 => (clear(seq, at), Kind::Order(at)),
            84..88 => (hello(seq, rng.random_range(0..3_000)), Kind::Aside),
            88..90 => (token(seq, &gateway.token(self.user, TOKEN_LIFE)), Kind::Aside),
            90..92 => (token(seq, &gateway.token(UserId(1), Duration::from_secs(60))), Kind::Aside),
            92..94 => (format!(r#"{{"seq":{seq},"unheard_of":{{}}}}"#), Kind::Bad),
            94..96 => (get(seq, &vec![1; ITEMS + 1]), Kind::Bad),
            _ => {
                self.seq = before;
                let text = NONSENSE[rng.random_range(0..NONSENSE.len())].to_owned();
                return Said { text, seq: None, kind: Kind::Bad };
            }
        };
        let text = if rng.random_bool(0.1) { padded(text, SubmitQueue::LONG_FRAME_BYTES) } else { text };
        Said { text, seq: Some(seq), kind }
    }

    fn beats(&mut self, seq: u32, rng: &mut SmallRng) -> (String, Kind) {
        if rng.random_bool(0.6) {
            // One goes on: it may be held.
            self.made += 1;
            let goes_on = beat(0, 1, PLAYED + self.made);
            return (beats(seq, &[goes_on]), Kind::Beats(vec![(goes_on, false)]));
        }
        let count = if rng.random_bool(0.05) { 3 * BEATS } else { rng.random_range(0..=BEATS) };
        let items = (0..count).map(|_| {
            self.made += 1;
            let oid = rng.random_range(0..CONTENTS);
            match rng.random_range(0..10) {
                0 => (beat(oid, 1, BEGIN + 3_600_000), true),
                // Of a playback of its own, that may have been overtaken.
                1 => (beat(oid, 1_000 + self.made, PLAYED_BEFORE + self.made), false),
                _ => (beat(oid, 1, PLAYED + self.made), false),
            }
        });
        let items: Vec<_> = items.collect();
        let beats_of: Vec<_> = items.iter().map(|(beat, _)| *beat).collect();
        (beats(seq, &beats_of), Kind::Beats(items))
    }
}
