//! The stored position of one user in one content.

use std::sync::Arc;

use super::beat::{Beat, Playback, Stamp, State, length_at};
use super::ids::{Content, SessionId};
use super::rewards::credit::Credit;
use super::version::Version;

/// The winner among the beats of one user and content, with what the store adds to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub content: Content,
    /// Milliseconds.
    pub pos: u64,
    /// Milliseconds; 0 = unknown.
    pub dur: u64,
    pub state: State,
    pub session: SessionId,
    /// The name the connection gave its device; empty = none.
    pub device: Arc<str>,
    /// Milliseconds played in `session` so far.
    pub watched: u64,
    /// Server-clock milliseconds.
    pub at: u64,
    pub version: Version,
    /// The watch time of its session today that counts for rewards.
    pub credit: Credit,
}

impl Record {
    /// The record that `beat` becomes when it wins over all that had `last_version`.
    pub fn of(beat: &Beat, device: Arc<str>, last_version: Version, credit: Credit) -> Self {
        Record {
            content: beat.content,
            pos: beat.pos,
            dur: beat.length(),
            state: beat.state,
            session: beat.session,
            device,
            watched: beat.watched_ms(),
            at: beat.at,
            version: Version::first_of(beat.at).max(last_version.next()),
            credit,
        }
    }

    /// With the length that the record `before` it knows, unless it knows one itself.
    pub fn keeping_length_of(self, before: Option<&Record>) -> Self {
        let known = before.map_or(0, |before| length_at(self.pos, before.dur));
        Record { dur: if self.dur > 0 { self.dur } else { known }, ..self }
    }

    pub fn playback(&self) -> Playback {
        Playback { session: self.session, state: self.state }
    }

    pub fn stamp(&self) -> Stamp {
        (self.at, self.session)
    }
}
