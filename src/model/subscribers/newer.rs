//! What a newer version has written of a subscriber: this version keeps it and does nothing with it, since an upgrade may
//! be rolled back and made again.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::endpoint_url::EndpointUrl;
use super::event_type::EventType;
use super::filter::Filter;
use super::secret::Secrets;
use super::subscriber::Subscriber;

/// Types of events, fields of the filter, and other fields that this version does not know. There are none nearly always.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Newer(Option<Box<Unknown>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Unknown {
    types: Vec<String>,
    filter: Map<String, Value>,
    fields: Map<String, Value>,
}

/// A subscriber as it is stored.
#[derive(Deserialize, Serialize)]
pub struct Written {
    url: EndpointUrl,
    types: Vec<String>,
    #[serde(default)]
    filter: WrittenFilter,
    batch: u16,
    secrets: Secrets,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

#[derive(Default, Deserialize, Serialize)]
struct WrittenFilter {
    #[serde(flatten)]
    known: Filter,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

impl From<Written> for Subscriber {
    fn from(written: Written) -> Subscriber {
        let Written { url, types, filter, batch, secrets, fields } = written;
        let (mut known, mut unknown) = (Vec::new(), Unknown { filter: filter.unknown, fields, ..Unknown::default() });
        for name in types {
            match name.parse::<EventType>() {
                Ok(event_type) => known.push(event_type),
                Err(_) => unknown.types.push(name),
            }
        }
        let newer = Newer((unknown != Unknown::default()).then(|| Box::new(unknown)));
        Subscriber { url, types: known, filter: filter.known, batch, secrets, newer }
    }
}

impl From<Subscriber> for Written {
    fn from(Subscriber { url, types, filter: known, batch, secrets, newer }: Subscriber) -> Written {
        let Unknown { types: others, filter: unknown, fields } = newer.0.map(|unknown| *unknown).unwrap_or_default();
        let types = types.into_iter().map(String::from).chain(others).collect();
        Written { url, types, filter: WrittenFilter { known, unknown }, batch, secrets, fields }
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
