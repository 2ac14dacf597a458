//! Whether a client of the library still works, as it is seen from outside.
//!
//! The library (2.12) forgets brokers that are not listed when it asks for them, and one that stood still for some seconds
//! is not. When all are forgotten it may connect to none any more, for as long as the client lives. A new client begins with
//! the configured addresses.

use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// A broker that is back is connected to within a second.
const STUCK_AFTER: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct Liveness(Mutex<State>);

#[derive(Default)]
struct State {
    /// Since when no broker has answered it.
    unanswered: Option<Instant>,
    is_over: bool,
}

impl Liveness {
    /// Notes a request to a broker, and whether it was answered.
    pub fn asked(&self, is_answered: bool, now: Instant) {
        let mut state = self.0.lock();
        match is_answered {
            true => state.unanswered = None,
            false => drop(state.unanswered.get_or_insert(now)),
        }
    }

    /// Another client is to take its place. While all brokers are away, a new client is not better, nor worse.
    pub fn is_stuck(&self, now: Instant) -> bool {
        self.0.lock().unanswered.is_some_and(|since| now.duration_since(since) >= STUCK_AFTER)
    }

    /// From now on the library's callbacks speak of partitions that are another client's.
    pub fn end(&self) {
        self.0.lock().is_over = true;
    }

    pub fn is_over(&self) -> bool {
        self.0.lock().is_over
    }
}

/// Drops a client that is stuck, on a thread of its own: it may wait for ever for the brokers.
pub fn drop_aside(client: impl Send + 'static) {
    let dropped = thread::Builder::new().name("kafka-leave".into()).spawn(move || drop(client));
    if let Err(error) = dropped {
        tracing::warn!(%error, "cannot start a thread to end a kafka client");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_no_broker_answers_for_long_is_stuck() {
        let (client, began) = (Liveness::default(), Instant::now());
        let after = |seconds| began + Duration::from_secs(seconds);
        assert!(!client.is_stuck(after(600)), "nothing is known against it");
        client.asked(false, after(600));
        client.asked(false, after(650));
        assert_eq!([659, 660].map(|seconds| client.is_stuck(after(seconds))), [false, true]);
        client.asked(true, after(660));
        assert!(!client.is_stuck(after(900)));
    }

    #[test]
    fn a_client_whose_end_takes_for_ever_holds_nothing_up() {
        struct Endless(std::sync::mpsc::Receiver<()>);
        impl Drop for Endless {
            fn drop(&mut self) {
                let _ = self.0.recv();
            }
        }
        let (ends, ended) = std::sync::mpsc::sync_channel(1);
        drop_aside(Endless(ended));
        drop(ends);
    }
}
