//! The last error of a connection.

use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

/// The same error is logged again after so long. With one broker away its connection fails every second, while messages
/// reach the others.
const LOG_EVERY: Duration = Duration::from_secs(60);
/// Different errors that are remembered; beyond it the oldest may be logged again sooner.
const LOGGED_MAX: usize = 64;

#[derive(Default)]
pub struct LastError(Mutex<Errors>);

#[derive(Default)]
struct Errors {
    /// Empty = nothing since the last delivery.
    last: String,
    logged: Vec<(String, Instant)>,
}

impl LastError {
    pub fn text(&self) -> String {
        self.lock().last.clone()
    }

    /// Whether it is logged.
    pub fn is(&self, reason: &str) -> bool {
        // What is behind that differs each time.
        let reason = reason.split(" (after ").next().unwrap_or_default();
        let mut errors = self.lock();
        if errors.last != reason {
            reason.clone_into(&mut errors.last);
        }
        errors.logged.retain(|(_, at)| at.elapsed() < LOG_EVERY);
        let new = errors.logged.iter().all(|(logged, _)| logged != reason);
        if new {
            if errors.logged.len() == LOGGED_MAX {
                errors.logged.remove(0);
            }
            errors.logged.push((reason.to_owned(), Instant::now()));
            tracing::warn!(event = "kafka_error", reason, "kafka reports an error");
        }
        new
    }

    /// Something was delivered.
    pub fn over(&self) {
        self.lock().last.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Errors> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_comes_again_between_deliveries_is_logged_once() {
        let errors = LastError::default();
        assert!(errors.is("a:9092: refused (after 1ms in state CONNECT)"));
        assert_eq!(errors.text(), "a:9092: refused");
        errors.over();
        assert_eq!(errors.text(), "");
        assert!(!errors.is("a:9092: refused (after 2ms in state CONNECT)"));
        assert!(errors.is("b:9092: refused"));
    }
}
