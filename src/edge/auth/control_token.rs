//! The bearer token of the control listener: configured, or made once and kept beside the data.

use std::path::{Path, PathBuf};

use aws_lc_rs::constant_time::verify_slices_are_equal;

use super::kept_secret::{KeptSecret, KeptSecretError};
use crate::config::ControlConfig;
use model::secret::Secret;

/// Made when no token is configured.
pub const CONTROL_TOKEN: KeptSecret =
    KeptSecret { name: "control token", file: "control-token", setting: "control.token" };

/// Compared in constant time.
pub struct ControlToken {
    secret: Secret,
    /// Where it is kept, if it was made here.
    kept_at: Option<PathBuf>,
}

impl ControlToken {
    pub fn load(config: &ControlConfig, data_dir: &Path) -> Result<Self, KeptSecretError> {
        if !config.token.is_empty() {
            return Ok(ControlToken { secret: config.token.clone(), kept_at: None });
        }
        let secret = CONTROL_TOKEN.load(data_dir)?;
        Ok(ControlToken { secret, kept_at: Some(CONTROL_TOKEN.path(data_dir)) })
    }

    pub fn kept_at(&self) -> Option<&Path> {
        self.kept_at.as_deref()
    }

    pub fn is(&self, given: &str) -> bool {
        verify_slices_are_equal(self.secret.expose().as_bytes(), given.as_bytes()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(token: &str) -> ControlConfig {
        ControlConfig {
            listen: "127.0.0.1:0".parse().expect("an address"),
            token: Secret::new(token.to_owned()),
            callers: Vec::new(),
            hosts: Vec::new(),
        }
    }

    #[test]
    fn a_configured_token_is_the_only_one() {
        let token = ControlToken::load(&config("0123456789abcdef"), Path::new("/nowhere")).expect("a token");
        assert!(token.is("0123456789abcdef") && token.kept_at().is_none());
        for other in ["", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeF"] {
            assert!(!token.is(other), "{other}");
        }
    }

    #[test]
    fn a_control_token_that_is_not_configured_is_made_once_and_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let load = || ControlToken::load(&config(""), dir.path()).expect("a token");
        let (first, second) = (load(), load());
        assert!(second.is(first.secret.expose()) && first.secret.expose().len() == 43);
        assert_eq!(first.kept_at(), Some(dir.path().join("control-token").as_path()));
        assert_eq!(CONTROL_TOKEN.find(dir.path()).expect("a kept token"), first.secret);
        assert!(!first.is(""));
    }
}
