//! The attributes of an event that filters look at.

use std::borrow::Cow;

use serde::Deserialize;

use super::event_type::EventType;
use crate::content_name::{ContentIds, ContentName};
use crate::counters::CounterId;
use crate::ids::{Content, UserId};

/// An event's filterable attributes; `None` if its type lacks one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts<'a> {
    pub event_type: EventType,
    pub rule: Option<Cow<'a, str>>,
    pub counter: Option<CounterId>,
    pub content: Option<Content>,
    pub user: Option<UserId>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    event_type: Cow<'a, str>,
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow, default)]
    rule: Option<Cow<'a, str>>,
    #[serde(default)]
    counter: Option<CounterId>,
    #[serde(default)]
    kind: Option<u16>,
    #[serde(borrow, default)]
    oid: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    mid: Option<Cow<'a, str>>,
}

impl<'a> Facts<'a> {
    /// Reads an event as JSON; `None` if its type cannot be subscribed to, or if it lacks an attribute of its type. `ids`: how
    /// it names contents.
    pub fn of(json: &'a str, ids: ContentIds) -> Option<Self> {
        let Event { event_type, data } = serde_json::from_str(json).ok()?;
        let oid = data.oid.and_then(|oid| match ids {
            ContentIds::Number => oid.parse().ok(),
            ContentIds::Any => ContentName::new(&oid).ok().map(|name| name.oid()),
        });
        let content = data.kind.zip(oid).map(|(kind, oid)| Content { kind, oid });
        let user = data.mid.and_then(|mid| mid.parse().ok()).map(UserId);
        let event_type = event_type.parse().ok()?;
        let facts = Facts { event_type, rule: data.rule, counter: data.counter, content, user };
        facts.is_whole().then_some(facts)
    }

    fn is_whole(&self) -> bool {
        match self.event_type {
            EventType::Reward => self.rule.is_some() && self.content.is_some() && self.user.is_some(),
            EventType::Counter => self.counter.is_some(),
            EventType::Position => self.content.is_some() && self.user.is_some(),
            EventType::Forgotten => self.user.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud_event::Source;
    use crate::content_name::ContentTexts;
    use crate::counters::CounterKey;
    use crate::counters::crossing::Crossing;
    use crate::fixtures::claim;

    #[test]
    fn a_reward_tells_its_rule_its_content_and_its_user() {
        let json = claim(42).event(None, ContentTexts::NONE, &Source::of("local")).to_json();
        let facts = Facts::of(&json, ContentIds::Number).expect("it is an event");
        assert_eq!((facts.event_type, facts.rule.as_deref()), (EventType::Reward, Some("first-of-day")));
        assert_eq!((facts.content, facts.user), (Some(Content { kind: 1, oid: 100 }), Some(UserId(42))));
        assert_eq!(facts.counter, None);
    }

    #[test]
    fn a_crossing_tells_its_counter_alone() {
        let counter: CounterId = "likes".parse().expect("it is an id");
        let crossing =
            Crossing { counter: counter.clone(), key: CounterKey::default(), value: 10, threshold: 10, n: 1, at: 0 };
        let json = crossing.event(&Source::of("local")).to_json();
        let counter = Some(counter);
        let facts = Facts { event_type: EventType::Counter, rule: None, counter, content: None, user: None };
        assert_eq!(Facts::of(&json, ContentIds::Number), Some(facts));
    }

    #[test]
    fn a_position_tells_its_content_and_its_user_and_a_forgetting_its_user_alone() {
        let position = r#"{"type":"dev.heartline.position.v1","data":{"mid":"42","kind":1,"oid":"100","pos":5}}"#;
        let facts = Facts::of(position, ContentIds::Number).expect("it is an event");
        assert_eq!((facts.content, facts.user), (Some(Content { kind: 1, oid: 100 }), Some(UserId(42))));
        let named = Facts::of(position, ContentIds::Any).expect("it is an event");
        let oid = ContentName::new("100").expect("a name").oid();
        assert_eq!(named.content, Some(Content { kind: 1, oid }));
        let forgotten = r#"{"type":"dev.heartline.forgotten.v1","data":{"mid":"42","cause":"delete","items":[{"kind":1,"oid":"1"}]}}"#;
        let facts = Facts::of(forgotten, ContentIds::Number).expect("it is an event");
        assert_eq!((facts.event_type, facts.content, facts.user), (EventType::Forgotten, None, Some(UserId(42))));
    }

    #[test]
    fn what_cannot_be_subscribed_to_has_no_facts() {
        let lacking = r#"{"type":"dev.heartline.reward.v1","data":{"rule":"a","mid":"42","kind":1}}"#;
        for other in ["", "{}", lacking, "[1]", r#"{"type":"dev.heartline.other.v1","data":{}}"#] {
            assert_eq!(Facts::of(other, ContentIds::Number), None, "{other}");
        }
    }
}
