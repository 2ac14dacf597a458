//! One request to a subscriber: its body, and the headers that Standard Webhooks want.
//!
//! <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Deserialize;

use super::endpoint_url::EndpointUrl;
use super::secret::SigningSecret;
use super::subscriber::Subscriber;

const ONE: &str = "application/cloudevents+json; charset=utf-8";
const BATCH: &str = "application/cloudevents-batch+json; charset=utf-8";
/// The characters that cannot be in a header, or would be cut from its ends.
const NOT_IN_HEADERS: &AsciiSet = &CONTROLS.add(b' ');

/// Computes HMAC-SHA256 of the parts, one after the other. The library for it is the caller's.
pub type Hmac = fn(key: &[u8], parts: &[&[u8]]) -> Vec<u8>;

/// A request that is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub url: EndpointUrl,
    pub content_type: &'static str,
    /// `webhook-id`
    pub id: String,
    /// `webhook-timestamp`, seconds since 1970.
    pub timestamp: u64,
    /// `webhook-signature`
    pub signature: String,
    pub body: String,
}

impl Delivery {
    /// A delivery of these events (JSON, at least one) at `now`, milliseconds.
    pub fn of(subscriber: &Subscriber, events: &[&str], now: u64, hmac: Hmac) -> Self {
        let first = id_of(events.first().copied().unwrap_or_default());
        let (content_type, id, body) = match subscriber.batch {
            ..=1 => (ONE, first, events.concat()),
            _ => (BATCH, format!("{first}+{}", events.len()), format!("[{}]", events.join(","))),
        };
        let timestamp = now / 1_000;
        let sign = |secret: &SigningSecret| signature(secret, &id, timestamp, &body, hmac);
        let signature = subscriber.secrets.at(now).map(sign).collect::<Vec<_>>().join(" ");
        Delivery { url: subscriber.url.clone(), content_type, id, timestamp, signature, body }
    }
}

fn signature(secret: &SigningSecret, id: &str, timestamp: u64, body: &str, hmac: Hmac) -> String {
    let signed = hmac(secret.key(), &[format!("{id}.{timestamp}.").as_bytes(), body.as_bytes()]);
    format!("v1,{}", STANDARD.encode(signed))
}

fn id_of(event: &str) -> String {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    let id = serde_json::from_str(event).map(|Named { id }| id).unwrap_or_default();
    utf8_percent_encode(&id, NOT_IN_HEADERS).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subscribers::{EventType, Filter, Newer, Secrets};

    /// Shows what is signed.
    fn shown(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        [&key[..1], b"|", &parts.concat()].concat()
    }

    fn subscriber(batch: u16) -> Subscriber {
        let secret = |byte| SigningSecret::of(vec![byte; 32]).expect("it is long enough");
        Subscriber {
            url: "https://example.com/hook".parse().expect("it is a URL"),
            types: vec![EventType::Reward],
            filter: Filter::default(),
            batch,
            secrets: Secrets::new(secret(b'a')).rotated(secret(b'b'), 5_000),
            newer: Newer::default(),
        }
    }

    fn signed(delivery: &Delivery) -> Vec<String> {
        let text = |one: &str| {
            let bytes = STANDARD.decode(one.strip_prefix("v1,").expect("a version")).expect("Base64");
            String::from_utf8(bytes).expect("text")
        };
        delivery.signature.split(' ').map(text).collect()
    }

    #[test]
    fn an_event_goes_as_it_is_signed_with_each_secret() {
        let delivery = Delivery::of(&subscriber(1), &[r#"{"id":"x:1"}"#], 4_999, shown);
        assert_eq!((delivery.content_type, delivery.id.as_str(), delivery.timestamp), (ONE, "x:1", 4));
        assert_eq!(delivery.body, r#"{"id":"x:1"}"#);
        assert_eq!(signed(&delivery), [r#"b|x:1.4.{"id":"x:1"}"#, r#"a|x:1.4.{"id":"x:1"}"#]);
        assert_eq!(signed(&Delivery::of(&subscriber(1), &["{}"], 5_000, shown)).len(), 1);
    }

    #[test]
    fn a_batch_is_an_array_also_of_one() {
        let delivery = Delivery::of(&subscriber(9), &[r#"{"id":"x"}"#, r#"{"id":"y"}"#], 0, shown);
        assert_eq!((delivery.content_type, delivery.id.as_str()), (BATCH, "x+2"));
        assert_eq!(delivery.body, r#"[{"id":"x"},{"id":"y"}]"#);
        assert_eq!(Delivery::of(&subscriber(2), &[r#"{"id":"x"}"#], 0, shown).id, "x+1");
    }

    #[test]
    fn an_id_fits_into_a_header() {
        let delivery = Delivery::of(&subscriber(1), &[r#"{"id":"a b\nä"}"#], 0, shown);
        assert_eq!(delivery.id, "a%20b%0A%C3%A4");
    }
}
