//! The definition of a subscriber: its events and its endpoint.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::endpoint_url::EndpointUrl;
use super::event_type::EventType;
use super::facts::Facts;
use super::filter::Filter;
use super::newer::{Newer, WrittenFilter};
use super::secret::Secrets;

/// As it was given to the control API. Stored as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "Written", into = "Written")]
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

/// A subscriber as it is stored.
#[derive(Deserialize, Serialize)]
struct Written {
    url: EndpointUrl,
    types: Vec<String>,
    #[serde(default)]
    filter: WrittenFilter,
    batch: u16,
    secrets: Secrets,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

impl From<Written> for Subscriber {
    fn from(Written { url, types, filter, batch, secrets, fields }: Written) -> Subscriber {
        let (types, filter, newer) = Newer::apart(types, filter, fields);
        Subscriber { url, types, filter, batch, secrets, newer }
    }
}

impl From<Subscriber> for Written {
    fn from(Subscriber { url, types, filter, batch, secrets, newer }: Subscriber) -> Written {
        let (types, filter, fields) = newer.together(types, filter);
        Written { url, types, filter, batch, secrets, fields }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored() -> Value {
        json!({
            "url": "https://example.com/", "types": ["dev.heartline.reward.v1"], "filter": {"kinds": [1]}, "batch": 2,
            "secrets": {"newest": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
        })
    }

    #[test]
    fn what_a_newer_version_has_written_is_kept_and_restricts_nothing() {
        let mut newer = stored();
        newer["types"] = json!(["dev.heartline.reward.v1", "dev.heartline.reward.v9"]);
        newer["filter"] = json!({"kinds": [1], "regions": ["eu"]});
        newer["proxy"] = json!({"url": "https://proxy.example.com/"});
        let subscriber: Subscriber = serde_json::from_value(newer.clone()).unwrap();
        assert_eq!((&*subscriber.types, &*subscriber.filter.kinds), (&[EventType::Reward][..], &[1][..]));
        assert_ne!(subscriber.newer, Newer::default());
        assert_eq!(serde_json::to_value(&subscriber).unwrap(), newer);
    }

    #[test]
    fn a_subscriber_of_this_version_is_read_as_it_is_written() {
        let subscriber: Subscriber = serde_json::from_value(stored()).unwrap();
        assert_eq!(subscriber.newer, Newer::default());
        assert_eq!(serde_json::to_value(&subscriber).unwrap(), stored());
    }
}
