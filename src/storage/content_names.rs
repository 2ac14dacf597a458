//! The texts of contents that are named by texts.
//!
//! Inside, a number made from the text stands for it ([`ContentName::oid`]); this dictionary gives the text back.
//!
//! *Durable.* A text is stored before it is answered.
//!
//! *One text.* The first text that was stored under a number keeps it.
//!
//! *Bounded.* A text that was not kept again for as long as records are is forgotten. So whoever stores something about a
//! content keeps its text again at least once a day, see [`KEPT_AGAIN_AFTER`].

use std::time::Duration;

use super::store_error::Answer;
use model::content_name::ContentName;

/// A process that uses a text keeps it again after this time, and not before.
pub const KEPT_AGAIN_AFTER: Duration = Duration::from_secs(12 * 3600);

/// How long a text is there after it was kept, beyond the time for which records are.
pub const KEPT_LONGER: Duration = Duration::from_secs(2 * 24 * 3600);

/// All methods may be called from any thread.
pub trait ContentNames: Send + Sync + 'static {
    /// Keeps texts. Answers in the order given with the text that has the number of each: another one had it before.
    fn keep(&self, names: Vec<ContentName>) -> Answer<Vec<ContentName>>;

    /// In the order asked; `None`: no text has this number.
    fn texts(&self, oids: Vec<u64>) -> Answer<Vec<Option<ContentName>>>;
}
