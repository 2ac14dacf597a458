//! The certificates of connections to Redis, read again while the process runs. Open connections stay as they are.

use std::sync::Arc;

use parking_lot::Mutex;

use edge::control::reload::Reread;

pub(super) const WHAT: &str = "redis_certificate";

/// Reads the files again. What cannot be used stays as it was.
pub(super) type ReadFiles = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

pub(super) struct RedisCertificates {
    read: ReadFiles,
    /// Why the last reload left them as they were.
    failed: Mutex<Option<String>>,
}

impl RedisCertificates {
    #[cfg_attr(not(feature = "fleet"), expect(dead_code, reason = "only a fleet has a Redis"))]
    pub fn new(read: ReadFiles) -> Arc<Self> {
        Arc::new(RedisCertificates { read, failed: Mutex::default() })
    }

    pub fn read_again(&self) -> Reread {
        let result = (self.read)();
        match &result {
            Ok(()) => tracing::info!(event = "redis_certificate_reloaded", "certificates for redis reloaded"),
            Err(error) => {
                tracing::error!(
                    event = "redis_certificate_reload_failed",
                    error,
                    "cannot reload the certificates for redis; keeping the current ones"
                );
            }
        }
        *self.failed.lock() = result.as_ref().err().cloned();
        Reread { what: WHAT, result }
    }

    pub fn has_failed(&self) -> bool {
        self.failed.lock().is_some()
    }

    /// A complaint for `/readyz`.
    pub fn degraded(&self) -> Option<String> {
        self.failed.lock().as_ref().map(|why| format!("the last reload failed: {why}"))
    }
}
