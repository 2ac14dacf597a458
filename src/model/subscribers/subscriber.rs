//! What a subscriber wants, and where.

use serde::{Deserialize, Serialize};

use super::endpoint_url::EndpointUrl;
use super::event_type::EventType;
use super::facts::Facts;
use super::filter::Filter;
use super::newer::{self, Newer};
use super::secret::Secrets;

/// As it was given to the control API. Stored as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "newer::Written", into = "newer::Written")]
pub struct Subscriber {
    /// Where deliveries go.
    pub url: EndpointUrl,
    /// At least one that was known when it was given, each once.
    pub types: Vec<EventType>,
    pub filter: Filter,
    /// Events of one delivery, 1 to [`BATCH_MAX`](Self::BATCH_MAX). With 1 a delivery is the event itself.
    pub batch: u16,
    pub secrets: Secrets,
    /// Kept, so that it is there when the newer version is back.
    pub newer: Newer,
}

impl Subscriber {
    pub const BATCH_MAX: u16 = 100;
    /// Bytes of the events of one delivery; a longer event goes alone.
    pub const BATCH_BYTES_MAX: usize = 256 << 10;

    pub fn wants(&self, facts: &Facts) -> bool {
        self.types.contains(&facts.event_type) && self.filter.fits(facts)
    }
}
