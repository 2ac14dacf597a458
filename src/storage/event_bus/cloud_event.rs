//! A claim as an event of CloudEvents 1.0, the same on every bus.
//!
//! As one JSON object (structured mode) it is a [`CloudEvent`]. A bus with headers (binary mode) carries its
//! [attributes](CloudEvent::attributes) there, and its [data](CloudEvent::data) alone as the body.

use std::borrow::Cow;
use std::fmt::Display;

use jiff::Timestamp;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::model::rewards::claim::{Claim, ClaimKey};
use crate::model::rewards::day::Day;

/// What all events of this form are called. Fields may be added to it; another meaning is another type.
pub const REWARD: &str = "dev.heartline.reward.v1";

/// The attribute that says of which media type the data is: protocols have a header of their own for it.
pub const DATA_CONTENT_TYPE: &str = "datacontenttype";

const ATTRIBUTES: usize = 8;

/// The `source` of all events of a deployment.
#[derive(Clone, Debug)]
pub struct Source(String);

impl Source {
    /// `deployment`: of [`super::config::Config`].
    pub fn of(deployment: &str) -> Self {
        Source(format!("/heartline/{deployment}"))
    }
}

#[derive(Debug)]
pub struct CloudEvent<'a> {
    /// The attributes of the event, in their order: names and values.
    pub attributes: [(&'static str, Cow<'a, str>); ATTRIBUTES],
    pub data: Data<'a>,
}

/// What has happened.
#[derive(Debug, Serialize)]
pub struct Data<'a> {
    pub rule: &'a str,
    #[serde(serialize_with = "as_text")]
    pub mid: u64,
    #[serde(serialize_with = "as_text")]
    pub day: Day,
    pub zone: &'a str,
    /// What was played when the claim was made, of a rule per user, too.
    pub kind: u16,
    #[serde(serialize_with = "as_text")]
    pub oid: u64,
    #[serde(serialize_with = "as_text")]
    pub session: u64,
    /// Empty = the client gave none.
    pub device: &'a str,
    /// Milliseconds, as the beat said.
    pub watched: u64,
    /// The server's clock, milliseconds since 1970.
    pub claimed_at: u64,
}

impl<'a> CloudEvent<'a> {
    pub fn of(claim: &'a Claim, source: &'a Source) -> Self {
        let ClaimKey { rule, day, user, content: _ } = &claim.key;
        CloudEvent {
            attributes: [
                ("specversion", "1.0".into()),
                // The claim's own: all events of one claim have it.
                ("id", claim.key.to_string().into()),
                ("source", source.0.as_str().into()),
                ("type", REWARD.into()),
                ("subject", user.0.to_string().into()),
                ("time", time(claim.claimed_at).into()),
                (DATA_CONTENT_TYPE, "application/json".into()),
                ("partitionkey", user.0.to_string().into()),
            ],
            data: Data {
                rule,
                mid: user.0,
                day: *day,
                zone: &claim.zone,
                kind: claim.content.kind,
                oid: claim.content.oid,
                session: claim.session.0,
                device: &claim.device,
                watched: claim.watched,
                claimed_at: claim.claimed_at,
            },
        }
    }

    pub fn to_json(&self) -> String {
        json(self)
    }
}

impl Data<'_> {
    pub fn to_json(&self) -> String {
        json(self)
    }
}

impl Serialize for CloudEvent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(ATTRIBUTES + 1))?;
        for (name, value) in &self.attributes {
            map.serialize_entry(name, value)?;
        }
        map.serialize_entry("data", &self.data)?;
        map.end()
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("text and numbers can be written as JSON")
}

fn as_text<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// RFC 3339 in UTC, to the millisecond. What is beyond the calendar (the year 9999) is its end.
fn time(millis: u64) -> String {
    let millis = i64::try_from(millis).unwrap_or(i64::MAX);
    let time = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX);
    format!("{time:.3}")
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::model::ids::{Content, SessionId, UserId};

    /// What user `mid` has claimed of a rule per user.
    pub fn claim(mid: u64) -> Claim {
        Claim {
            key: ClaimKey {
                rule: "first-of-day".into(),
                day: "2026-11-20".parse().expect("a day"),
                user: UserId(mid),
                content: None,
            },
            content: Content { kind: 1, oid: 100 },
            session: SessionId(8_311_207),
            device: "tv-3f".into(),
            watched: 5_000,
            claimed_at: 1_795_150_000_118,
            zone: "Europe/Berlin".into(),
        }
    }

    #[test]
    fn a_claim_per_user_is_this_event_to_the_letter() {
        let golden = concat!(
            r#"{"specversion":"1.0","id":"first-of-day:2026-11-20:42","source":"/heartline/local","#,
            r#""type":"dev.heartline.reward.v1","subject":"42","time":"2026-11-20T04:46:40.118Z","#,
            r#""datacontenttype":"application/json","partitionkey":"42","data":{"rule":"first-of-day","mid":"42","#,
            r#""day":"2026-11-20","zone":"Europe/Berlin","kind":1,"oid":"100","session":"8311207","device":"tv-3f","#,
            r#""watched":5000,"claimed_at":1795150000118}}"#,
        );
        assert_eq!(CloudEvent::of(&claim(42), &Source::of("local")).to_json(), golden);
    }

    #[test]
    fn a_claim_per_content_is_this_event_to_the_letter() {
        let mut claim = claim(u64::MAX);
        claim.key.rule = "first-view".into();
        claim.key.content = Some(claim.content);
        (claim.device, claim.claimed_at) = ("a \"b\"".into(), 1_795_150_000_000);
        let golden = concat!(
            r#"{"specversion":"1.0","id":"first-view:2026-11-20:18446744073709551615:1:100","source":"/heartline/eu-1","#,
            r#""type":"dev.heartline.reward.v1","subject":"18446744073709551615","time":"2026-11-20T04:46:40.000Z","#,
            r#""datacontenttype":"application/json","partitionkey":"18446744073709551615","data":{"rule":"first-view","#,
            r#""mid":"18446744073709551615","day":"2026-11-20","zone":"Europe/Berlin","kind":1,"oid":"100","#,
            r#""session":"8311207","device":"a \"b\"","watched":5000,"claimed_at":1795150000000}}"#,
        );
        assert_eq!(CloudEvent::of(&claim, &Source::of("eu-1")).to_json(), golden);
    }

    #[test]
    fn the_data_alone_is_a_body() {
        let (claim, source) = (claim(42), Source::of("local"));
        let event = CloudEvent::of(&claim, &source);
        assert!(event.to_json().ends_with(&format!(r#","data":{}}}"#, event.data.to_json())));
    }

    #[test]
    fn a_time_beyond_the_calendar_is_its_end() {
        let claim = Claim { claimed_at: u64::MAX, ..claim(1) };
        assert!(CloudEvent::of(&claim, &Source::of("x")).to_json().contains(r#""time":"9999-12-30T22:00:00.999Z""#));
    }
}
