//! The types of events that can be subscribed to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::counters::crossing::COUNTER;
use crate::notices::{FORGOTTEN, Followed, POSITION};
use crate::rewards::reward_event::REWARD;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum EventType {
    /// A user has earned a reward.
    Reward,
    /// A counter has crossed a threshold.
    Counter,
    /// A user's position in a content is new or has moved.
    Position,
    /// Positions of a user were deleted.
    Forgotten,
}

/// There is no such type of event.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{given:?} is no type of event that can be subscribed to; there are: {known}", known = EventType::names())]
pub struct NoEventType {
    pub given: String,
}

impl EventType {
    pub const ALL: [EventType; 4] = [EventType::Reward, EventType::Counter, EventType::Position, EventType::Forgotten];

    /// The `type` of these events.
    pub fn name(self) -> &'static str {
        match self {
            EventType::Reward => REWARD,
            EventType::Counter => COUNTER,
            EventType::Position => POSITION,
            EventType::Forgotten => FORGOTTEN,
        }
    }

    /// The types among these whose events are written only while somebody has subscribed to them.
    pub fn followed(types: &[EventType]) -> Followed {
        Followed { positions: types.contains(&EventType::Position), forgotten: types.contains(&EventType::Forgotten) }
    }

    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl FromStr for EventType {
    type Err = NoEventType;

    fn from_str(text: &str) -> Result<Self, NoEventType> {
        let found = Self::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| NoEventType { given: text.to_owned() })
    }
}

impl TryFrom<String> for EventType {
    type Error = NoEventType;

    fn try_from(text: String) -> Result<Self, NoEventType> {
        text.parse()
    }
}

impl From<EventType> for String {
    fn from(one: EventType) -> String {
        one.name().to_owned()
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
