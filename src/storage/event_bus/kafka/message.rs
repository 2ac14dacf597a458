//! An event as a message of Kafka: the binary content mode of the CloudEvents binding.

use rdkafka::message::{Header, OwnedHeaders};

use crate::model::cloud_event::{CloudEvent, DATA_CONTENT_TYPE};

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

fn insert(headers: OwnedHeaders, key: &str, value: &str) -> OwnedHeaders {
    headers.insert(Header { key, value: Some(value) })
}

#[cfg(test)]
mod tests {
    use rdkafka::message::Headers;

    use super::*;
    use crate::model::cloud_event::Source;
    use crate::model::rewards::claim::tests::claim;

    #[test]
    fn a_claim_is_this_message_to_the_letter() {
        let message = Message::of(claim(u64::MAX).event(&Source::of("eu-1")));
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
}
