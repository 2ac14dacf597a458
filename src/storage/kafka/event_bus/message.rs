//! An event as a message of Kafka: the binary content mode of the CloudEvents binding.

use std::collections::BTreeMap;
use std::sync::Arc;

use rdkafka::message::{Header, Headers, OwnedHeaders};
use serde::Serialize;
use serde_json::value::RawValue;

use model::cloud_event::{CloudEvent, DATA_CONTENT_TYPE};

const PREFIX: &str = "ce_";
const CONTENT_TYPE: &str = "content-type";

pub struct Message {
    /// Events of one key are in one partition, in their order.
    pub key: String,
    pub headers: OwnedHeaders,
    pub value: String,
}

impl Message {
    pub fn of(event: CloudEvent) -> Self {
        let attributes = event.attributes();
        let headers =
            attributes.iter().fold(OwnedHeaders::new_with_capacity(attributes.len()), |headers, (name, value)| {
                match *name {
                    DATA_CONTENT_TYPE => insert(headers, CONTENT_TYPE, value),
                    name => insert(headers, &format!("{PREFIX}{name}"), value),
                }
            });
        Message { key: event.partition_key, headers, value: event.data.into_json() }
    }
}

/// A message as the text of the event that it is; `None` if it is none.
pub fn structured(message: &impl rdkafka::Message<Headers: Headers>) -> Option<Arc<str>> {
    let data: &RawValue = serde_json::from_slice(message.payload()?).ok()?;
    let mut attributes = BTreeMap::new();
    for header in message.headers()?.iter() {
        let value = std::str::from_utf8(header.value?).ok()?;
        let name = if header.key == CONTENT_TYPE { Some(DATA_CONTENT_TYPE) } else { header.key.strip_prefix(PREFIX) };
        attributes.extend(name.map(|name| (name, value)));
    }
    let is_event = ["specversion", "id", "source", "type"].iter().all(|name| attributes.contains_key(name));
    let event = Structured { attributes, data };
    is_event.then(|| serde_json::to_string(&event).ok()).flatten().map(Arc::from)
}

/// The structured mode: attributes and data side by side.
#[derive(Serialize)]
struct Structured<'a> {
    #[serde(flatten)]
    attributes: BTreeMap<&'a str, &'a str>,
    data: &'a RawValue,
}

fn insert(headers: OwnedHeaders, key: &str, value: &str) -> OwnedHeaders {
    headers.insert(Header { key, value: Some(value) })
}

#[cfg(test)]
mod tests {
    use rdkafka::message::{OwnedMessage, Timestamp};

    use super::*;
    use model::cloud_event::Source;
    use model::content_name::ContentTexts;
    use model::fixtures::claim;

    #[test]
    fn a_claim_is_this_message_to_the_letter() {
        let message = Message::of(claim(u64::MAX).event(None, ContentTexts::NONE, &Source::of("eu-1")));
        let headers: Vec<(String, String)> = message
            .headers
            .iter()
            .map(|header| {
                (header.key.to_owned(), String::from_utf8(header.value.expect("a value").to_vec()).expect("UTF-8"))
            })
            .collect();
        let expected = [
            ("ce_specversion", "1.0"),
            ("ce_id", "first-of-day:2026-11-20:18446744073709551615"),
            ("ce_source", "/heartline/eu-1"),
            ("ce_type", "dev.heartline.reward.v1"),
            ("ce_subject", "18446744073709551615"),
            ("ce_time", "2026-11-20T04:46:40.118Z"),
            ("content-type", "application/json"),
            ("ce_partitionkey", "18446744073709551615"),
        ];
        assert_eq!(headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(message.key, "18446744073709551615");
        let value = concat!(
            r#"{"rule":"first-of-day","mid":"18446744073709551615","day":"2026-11-20","zone":"Europe/Berlin","kind":1,"#,
            r#""oid":"100","session":"8311207","device":"tv-3f","watched":5000,"claimed_at":1795150000118}"#,
        );
        assert_eq!(message.value, value);
    }

    fn sent(headers: OwnedHeaders, value: &str) -> OwnedMessage {
        let value = Some(value.as_bytes().to_vec());
        OwnedMessage::new(value, None, "t".into(), Timestamp::NotAvailable, 0, 0, Some(headers))
    }

    #[test]
    fn a_message_is_read_as_the_event_that_it_was() {
        let (event, json) = (
            claim(42).event(None, ContentTexts::NONE, &Source::of("eu-1")),
            claim(42).event(None, ContentTexts::NONE, &Source::of("eu-1")).to_json(),
        );
        let Message { headers, value, .. } = Message::of(event);
        let read = structured(&sent(headers, &value)).expect("it is an event");
        let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("it is JSON");
        assert_eq!(parsed(&read), parsed(&json));
    }

    #[test]
    fn what_is_no_event_is_left_out() {
        let Message { headers, value, .. } =
            Message::of(claim(42).event(None, ContentTexts::NONE, &Source::of("eu-1")));
        assert_eq!(structured(&sent(headers, "no JSON")), None);
        assert_eq!(structured(&sent(OwnedHeaders::new(), &value)), None);
    }
}
