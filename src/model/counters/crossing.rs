//! The event that tells of a threshold of a counter that was crossed.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use super::id::CounterId;
use super::key::CounterKey;
use crate::cloud_event::{CloudEvent, Data, Source};

/// The type of these events. Fields may be added to it; another meaning is another type.
pub const COUNTER: &str = "dev.heartline.counter.v1";

/// A step of a counter has reached a threshold from below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossing {
    pub counter: CounterId,
    pub key: CounterKey,
    /// After the step.
    pub value: i64,
    pub threshold: i64,
    /// How often this key has crossed the threshold, this time included.
    pub n: u64,
    /// The server's clock, milliseconds since 1970.
    pub at: u64,
}

#[derive(Serialize)]
struct Crossed<'a> {
    counter: &'a str,
    key: Vec<Cow<'a, str>>,
    value: i64,
    threshold: i64,
}

impl Crossing {
    /// All events of one crossing have one id: `counter:key:threshold:n`.
    pub fn event(&self, source: &Source) -> CloudEvent {
        let Crossing { counter, key, value, threshold, n, at } = self;
        let subject = Subject { counter, key }.to_string();
        CloudEvent {
            id: format!("{subject}:{threshold}:{n}"),
            source: source.clone(),
            kind: COUNTER,
            subject: subject.clone(),
            time: *at,
            partition_key: subject,
            data: Data::of(&Crossed {
                counter: counter.as_str(),
                key: key.parts().collect(),
                value: *value,
                threshold: *threshold,
            }),
        }
    }
}

/// `likes:1:100`; of a counter whose key has no parts, its id alone.
struct Subject<'a> {
    counter: &'a CounterId,
    key: &'a CounterKey,
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.counter)?;
        if !self.key.encoded().is_empty() {
            write!(f, ":{}", self.key)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::crossing;

    #[test]
    fn a_crossing_is_this_event_to_the_letter() {
        let golden = concat!(
            r#"{"specversion":"1.0","id":"likes:1:a%20b%3A:1000:2","source":"/heartline/local","#,
            r#""type":"dev.heartline.counter.v1","subject":"likes:1:a%20b%3A","time":"2026-11-20T04:46:40.118Z","#,
            r#""datacontenttype":"application/json","partitionkey":"likes:1:a%20b%3A","#,
            r#""data":{"counter":"likes","key":["1","a b:"],"value":1002,"threshold":1000}}"#,
        );
        assert_eq!(crossing(&["1", "a b:"], 1_000, 2).event(&Source::of("local")).to_json(), golden);
    }

    #[test]
    fn a_crossing_of_a_counter_with_one_number_is_this_event_to_the_letter() {
        let golden = concat!(
            r#"{"specversion":"1.0","id":"likes:-7:1","source":"/heartline/eu-1","type":"dev.heartline.counter.v1","#,
            r#""subject":"likes","time":"2026-11-20T04:46:40.118Z","datacontenttype":"application/json","#,
            r#""partitionkey":"likes","data":{"counter":"likes","key":[],"value":-5,"threshold":-7}}"#,
        );
        assert_eq!(crossing(&[], -7, 1).event(&Source::of("eu-1")).to_json(), golden);
    }
}
