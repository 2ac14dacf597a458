//! Which events of its types a subscriber wants.

use serde::{Deserialize, Serialize};

use super::facts::Facts;
use crate::counters::CounterId;
use crate::ids::{Content, NoContent, UserId};

/// The values of one field are alternatives, and all fields must fit. An empty field, and one that the type of an event
/// does not have, restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "WrittenFilter", into = "WrittenFilter")]
pub struct Filter {
    pub rules: Vec<String>,
    pub counters: Vec<CounterId>,
    pub kinds: Vec<u16>,
    pub contents: Vec<Content>,
    pub users: Vec<UserId>,
}

impl Filter {
    /// Values of one field.
    pub const VALUES_MAX: usize = 1_000;

    /// `user` and `content`: the words for them.
    pub fn written(&self, user: impl Fn(UserId) -> String, content: impl Fn(Content) -> String) -> WrittenFilter {
        let Filter { rules, counters, kinds, contents, users } = self.clone();
        let contents = contents.into_iter().map(content).collect();
        WrittenFilter { rules, counters, kinds, contents, mids: users.into_iter().map(user).collect() }
    }

    pub fn fits(&self, facts: &Facts) -> bool {
        any(&self.rules, facts.rule.as_deref(), |rule, fact| rule == fact)
            && any(&self.counters, facts.counter.as_ref(), |counter, fact| counter == fact)
            && any(&self.kinds, facts.content, |kind, fact| *kind == fact.kind)
            && any(&self.contents, facts.content, |content, fact| *content == fact)
            && any(&self.users, facts.user, |user, fact| *user == fact)
    }
}

fn any<V, F: Copy>(values: &[V], fact: Option<F>, is: impl Fn(&V, F) -> bool) -> bool {
    values.is_empty() || fact.is_none_or(|fact| values.iter().any(|value| is(value, fact)))
}

/// A filter as it is written, on the wire and in stores: ids as text, empty fields left out.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
pub struct WrittenFilter {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    counters: Vec<CounterId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kinds: Vec<u16>,
    /// `1:100`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contents: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mids: Vec<String>,
}

impl TryFrom<WrittenFilter> for Filter {
    type Error = String;

    fn try_from(WrittenFilter { rules, counters, kinds, contents, mids }: WrittenFilter) -> Result<Self, String> {
        let contents = contents.iter().map(|text| text.parse()).collect::<Result<_, NoContent>>();
        let contents = contents.map_err(|error| error.to_string())?;
        let users = mids.iter().map(|text| number(text).map(UserId)).collect::<Result<_, _>>()?;
        Ok(Filter { rules, counters, kinds, contents, users })
    }
}

impl From<Filter> for WrittenFilter {
    fn from(filter: Filter) -> WrittenFilter {
        filter.written(|user| user.0.to_string(), |content| content.to_string())
    }
}

/// Decimal digits only.
fn number(text: &str) -> Result<u64, String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    digits.ok_or_else(|| format!("{text:?} is no decimal number below 2^64"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subscribers::EventType;

    fn reward<'a>() -> Facts<'a> {
        Facts {
            event_type: EventType::Reward,
            rule: Some("first-of-day".into()),
            counter: None,
            content: Some(Content { kind: 1, oid: 100 }),
            user: Some(UserId(42)),
        }
    }

    fn filter(json: &str) -> Filter {
        serde_json::from_str(json).expect("it is a filter")
    }

    #[test]
    fn values_are_alternatives_and_all_fields_must_fit() {
        for fitting in [
            "{}",
            r#"{"rules":["other","first-of-day"]}"#,
            r#"{"kinds":[2,1],"mids":["42"]}"#,
            r#"{"contents":["1:100"]}"#,
            r#"{"counters":["likes"]}"#,
        ] {
            assert!(filter(fitting).fits(&reward()), "{fitting}");
        }
        for other in [
            r#"{"rules":["other"]}"#,
            r#"{"rules":["first-of-day"],"kinds":[2]}"#,
            r#"{"mids":["43"]}"#,
            r#"{"contents":["1:101","2:100"]}"#,
        ] {
            assert!(!filter(other).fits(&reward()), "{other}");
        }
    }

    #[test]
    fn a_filter_is_read_as_it_is_written() {
        let json =
            r#"{"rules":["a"],"counters":["likes"],"kinds":[1],"contents":["1:100"],"mids":["18446744073709551615"]}"#;
        assert_eq!(serde_json::to_string(&filter(json)).expect("it can be written"), json);
        assert_eq!(serde_json::to_string(&Filter::default()).expect("it can be written"), "{}");
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for wrong in [
            r#"{"contents":["1"]}"#,
            r#"{"contents":["65536:1"]}"#,
            r#"{"contents":["1:-1"]}"#,
            r#"{"mids":["+1"]}"#,
            r#"{"mids":["18446744073709551616"]}"#,
        ] {
            assert!(serde_json::from_str::<Filter>(wrong).is_err(), "{wrong}");
        }
    }
}
