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
    /// That the login was refused, and when.
    login: Option<(String, Instant)>,
    logged: Vec<(String, Instant)>,
}

impl LastError {
    pub fn text(&self) -> String {
        self.lock().last.clone()
    }

    /// Why a question has no answer. `otherwise`: as the question says, which only knows that there is none.
    pub fn away(&self, otherwise: &str) -> String {
        let errors = self.lock();
        match &errors.login {
            Some((reason, at)) if at.elapsed() < LOG_EVERY => {
                format!("Kafka refuses the login; correct kafka.sasl_user and kafka.sasl_password: {reason}")
            }
            _ if errors.last.is_empty() => format!("Kafka does not answer: {otherwise}"),
            _ => format!("Kafka does not answer: {}", errors.last),
        }
    }

    /// The login is refused: brokers answer, and nothing but other settings helps. Whether it is logged.
    pub fn is_login(&self, reason: &str) -> bool {
        let is_new = self.is(reason);
        let mut errors = self.lock();
        errors.login = Some((errors.last.clone(), Instant::now()));
        is_new
    }

    /// Whether it is logged.
    pub fn is(&self, reason: &str) -> bool {
        // The text after "(after" differs each time.
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
        let mut errors = self.lock();
        errors.last.clear();
        errors.login = None;
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
        assert_eq!(errors.away("timed out"), "Kafka does not answer: b:9092: refused");
    }

    #[test]
    fn a_refused_login_is_told_as_one_whatever_follows_it() {
        let errors = LastError::default();
        assert!(errors.is_login("b:9092: SASL authentication error (after 3ms in state AUTH_REQ)"));
        assert!(errors.is("b:9092: disconnected"));
        let told = errors.away("timed out");
        assert!(told.contains("refuses the login") && told.ends_with("b:9092: SASL authentication error"), "{told}");
        errors.over();
        assert_eq!(errors.away("timed out"), "Kafka does not answer: timed out");
    }
}
