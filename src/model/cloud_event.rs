//! An event of CloudEvents 1.0, the same on every bus.
//!
//! As one JSON object (structured mode) it is [`CloudEvent::to_json`]. A bus with headers (binary mode) carries its
//! [attributes](CloudEvent::attributes) there, and its data alone as the body.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use jiff::Timestamp;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// The attribute that says of which media type the data is: protocols have a header of their own for it.
pub const DATA_CONTENT_TYPE: &str = "datacontenttype";
/// The attribute of [`CloudEvent::partition_key`].
pub const PARTITION_KEY: &str = "partitionkey";

const ATTRIBUTES: usize = 8;

/// The `source` of all events of a deployment.
#[derive(Clone, Debug)]
pub struct Source(Arc<str>);

impl Source {
    /// `deployment`: the name of the deployment (`events.deployment`).
    pub fn of(deployment: &str) -> Self {
        Source(format!("/heartline/{deployment}").into())
    }
}

#[derive(Debug)]
pub struct CloudEvent {
    /// The same whenever the event is published again.
    pub id: String,
    pub source: Source,
    /// The `type`: what all events of this form are called.
    pub kind: &'static str,
    pub subject: String,
    /// When it happened, by the server's clock, milliseconds since 1970.
    pub time: u64,
    /// Events of one key have an order.
    pub partition_key: String,
    pub data: Data,
}

/// The data of an event: a JSON object.
#[derive(Debug)]
pub struct Data(Box<RawValue>);

impl Data {
    /// `value` must consist of text and numbers.
    pub fn of(value: &impl Serialize) -> Self {
        Data(to_raw_value(value).expect("text and numbers can be written as JSON"))
    }

    pub fn into_json(self) -> String {
        Box::<str>::from(self.0).into_string()
    }
}

impl CloudEvent {
    /// Names and values, in their order.
    pub fn attributes(&self) -> [(&'static str, Cow<'_, str>); ATTRIBUTES] {
        [
            ("specversion", "1.0".into()),
            ("id", self.id.as_str().into()),
            ("source", Cow::Borrowed(&*self.source.0)),
            ("type", self.kind.into()),
            ("subject", self.subject.as_str().into()),
            ("time", time(self.time).into()),
            (DATA_CONTENT_TYPE, "application/json".into()),
            (PARTITION_KEY, self.partition_key.as_str().into()),
        ]
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("text and numbers can be written as JSON")
    }
}

impl Serialize for CloudEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(ATTRIBUTES + 1))?;
        for (name, value) in &self.attributes() {
            map.serialize_entry(name, value)?;
        }
        map.serialize_entry("data", &self.data.0)?;
        map.end()
    }
}

/// Ids in data are text: readers keep numbers beyond 2⁵³ only so.
pub fn as_text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// RFC 3339 in UTC, to the millisecond. What is beyond the calendar (the year 9999) is its end.
fn time(millis: u64) -> String {
    let millis = i64::try_from(millis).unwrap_or(i64::MAX);
    let time = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX);
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(time: u64) -> CloudEvent {
        CloudEvent {
            id: "a:1".into(),
            source: Source::of("eu-1"),
            kind: "dev.heartline.test.v1",
            subject: "one".into(),
            time,
            partition_key: "a".into(),
            data: Data::of(&[("text", "a \"b\"")].into_iter().collect::<std::collections::BTreeMap<_, _>>()),
        }
    }

    #[test]
    fn an_event_has_exactly_this_json() {
        let golden = concat!(
            r#"{"specversion":"1.0","id":"a:1","source":"/heartline/eu-1","type":"dev.heartline.test.v1","#,
            r#""subject":"one","time":"2026-11-20T04:46:40.118Z","datacontenttype":"application/json","#,
            r#""partitionkey":"a","data":{"text":"a \"b\""}}"#,
        );
        assert_eq!(event(1_795_150_000_118).to_json(), golden);
    }

    #[test]
    fn the_data_of_an_event_can_be_encoded_alone() {
        let (all, data) = (event(0).to_json(), event(0).data.into_json());
        assert!(all.ends_with(&format!(r#","data":{data}}}"#)));
    }

    #[test]
    fn a_time_beyond_the_calendar_is_its_last_moment() {
        assert!(event(u64::MAX).to_json().contains(r#""time":"9999-12-30T22:00:00.999Z""#));
    }
}
