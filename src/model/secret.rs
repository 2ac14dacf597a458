//! A setting that is not to be shown.

use std::fmt;

use serde::Deserialize;

/// The mask of a secret wherever settings are shown.
pub const MASK: &str = "********";

/// A text that appears in no log, message or dump. Empty means that none was given.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: String) -> Self {
        Secret(text)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The secret itself. Do not log it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "(none)" } else { MASK })
    }
}
