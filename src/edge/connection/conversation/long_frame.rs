//! A long frame, which waits until others of the thread are answered.

use std::time::Instant;

use crate::domain::ingest::submit_queue::LargeFramePermit;

/// The long frame of a connection, of which there is one at most: nothing more is read before it is answered. Boxed, since
/// every connection keeps one of these and few have one.
#[derive(Default)]
pub struct LongFrame(Option<Box<Stage>>);

enum Stage {
    /// Not to be left alone for longer than until then, if there is a bound.
    Waits {
        text: String,
        until: Option<Instant>,
    },
    Goes {
        _permit: LargeFramePermit,
    },
}

impl LongFrame {
    /// Its turn has not come.
    pub fn wait(&mut self, text: String, until: Option<Instant>) {
        self.0 = Some(Box::new(Stage::Waits { text, until }));
    }

    /// It has the turn until it is answered.
    pub fn go(&mut self, permit: LargeFramePermit) {
        self.0 = Some(Box::new(Stage::Goes { _permit: permit }));
    }

    /// The text that has waited.
    pub fn take(&mut self) -> Option<String> {
        match self.0.take().map(|stage| *stage) {
            Some(Stage::Waits { text, .. }) => Some(text),
            _ => None,
        }
    }

    /// The text, if it has waited until its bound.
    pub fn take_late(&mut self, now: Instant) -> Option<String> {
        self.waits_until().is_some_and(|until| now >= until).then(|| self.take()).flatten()
    }

    /// It is answered, if it had its turn.
    pub fn end(&mut self) {
        self.0.take_if(|stage| matches!(**stage, Stage::Goes { .. }));
    }

    pub fn is_there(&self) -> bool {
        self.0.is_some()
    }

    pub fn waits(&self) -> bool {
        self.0.as_ref().is_some_and(|stage| matches!(**stage, Stage::Waits { .. }))
    }

    pub fn waits_until(&self) -> Option<Instant> {
        match self.0.as_deref() {
            Some(Stage::Waits { until, .. }) => *until,
            _ => None,
        }
    }
}
