//! The definition of a derived counter.

use serde::{Deserialize, Serialize};

use super::id::CounterId;
use crate::beat::State;
use crate::ids::UserId;
use crate::reading::Reading;
use crate::record::Record;

/// "Of the records that are `when`, the sum of `value` for each `key`."
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    pub id: CounterId,
    /// Empty: one number for all records.
    #[serde(default)]
    pub key: Vec<KeyField>,
    #[serde(default)]
    pub when: When,
    #[serde(default)]
    pub value: Value,
}

/// A field of a record that is a part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyField {
    Mid,
    Kind,
    Oid,
    State,
    /// A record without a device is not counted.
    Device,
}

/// Which records are counted. A list that is left out restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    pub kind: Option<Vec<u16>>,
    #[serde(default, with = "state_words")]
    pub state: Option<Vec<State>>,
    pub device: Option<Vec<String>>,
    /// As the settings of reading say.
    pub finished: Option<bool>,
}

/// The number that a record adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "ValueWord", into = "ValueWord")]
pub enum Value {
    /// 1
    #[default]
    One,
    /// Milliseconds, as all of these.
    Pos,
    Dur,
    Watched,
}

/// More than this of one record is not counted: it is no length of anything, and sums of it would not fit.
/// 2⁴⁰ ms are 34 years.
const VALUE_MAX: u64 = 1 << 40;

impl KeyField {
    pub fn word(self) -> &'static str {
        match self {
            KeyField::Mid => "mid",
            KeyField::Kind => "kind",
            KeyField::Oid => "oid",
            KeyField::State => "state",
            KeyField::Device => "device",
        }
    }
}

impl Definition {
    pub const VIEWERS: &str = "viewers";
    pub const FINISHERS: &str = "finishers";
    pub const IN_PROGRESS: &str = "in-progress";

    /// Those that are often wanted: of each content the users who remember it, and of these who have finished it; of
    /// each user the contents that are begun and not finished.
    pub fn shipped() -> Vec<Self> {
        let content = || vec![KeyField::Kind, KeyField::Oid];
        let when = |finished| When { finished: Some(finished), ..When::default() };
        [
            (Self::VIEWERS, content(), When::default()),
            (Self::FINISHERS, content(), when(true)),
            (Self::IN_PROGRESS, vec![KeyField::Mid], when(false)),
        ]
        .map(|(id, key, when)| Definition { id: id.parse().expect("a good id"), key, when, value: Value::One })
        .into()
    }

    /// The number that the record adds; `None` if it is not counted.
    pub(super) fn value(&self, record: &Record, reading: &Reading) -> Option<i64> {
        self.counts(record, reading).then(|| match self.value {
            Value::One => 1,
            Value::Pos => bounded(record.pos),
            Value::Dur => bounded(record.dur),
            Value::Watched => bounded(record.watched),
        })
    }

    fn counts(&self, record: &Record, reading: &Reading) -> bool {
        let When { kind, state, device, finished } = &self.when;
        let has_key = !record.device.is_empty() || !self.key.contains(&KeyField::Device);
        has_key
            && kind.as_ref().is_none_or(|kinds| kinds.contains(&record.content.kind))
            && state.as_ref().is_none_or(|states| states.contains(&record.state))
            && device.as_ref().is_none_or(|devices| devices.iter().any(|device| **device == *record.device))
            && finished.is_none_or(|finished| finished == reading.progress(record).finished)
    }

    /// Whether two records of one user and content have the same key.
    pub(super) fn same_key(&self, one: &Record, other: &Record) -> bool {
        self.key.iter().all(|field| match field {
            KeyField::Mid | KeyField::Kind | KeyField::Oid => true,
            KeyField::State => one.state == other.state,
            KeyField::Device => one.device == other.device,
        })
    }

    /// The parts of the record's key.
    pub(super) fn key_parts(&self, user: UserId, record: &Record) -> Vec<String> {
        let part = |field: &KeyField| match field {
            KeyField::Mid => user.0.to_string(),
            KeyField::Kind => record.content.kind.to_string(),
            KeyField::Oid => record.content.oid.to_string(),
            KeyField::State => record.state.word().to_owned(),
            KeyField::Device => record.device.to_string(),
        };
        self.key.iter().map(part).collect()
    }

    /// Whether both count the same, under the settings of reading that belong to each.
    pub(super) fn counts_as(&self, reading: &Reading, other: &Definition, of_other: &Reading) -> bool {
        self == other && (self.when.finished.is_none() || reading == of_other)
    }
}

fn bounded(value: u64) -> i64 {
    value.min(VALUE_MAX) as i64
}

/// The value as it is written in settings: 1, or the name of a field.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum ValueWord {
    Number(i64),
    Field(String),
}

impl TryFrom<ValueWord> for Value {
    type Error = String;

    fn try_from(word: ValueWord) -> Result<Self, String> {
        match word {
            ValueWord::Number(1) => Ok(Value::One),
            ValueWord::Field(field) if field == "pos" => Ok(Value::Pos),
            ValueWord::Field(field) if field == "dur" => Ok(Value::Dur),
            ValueWord::Field(field) if field == "watched" => Ok(Value::Watched),
            ValueWord::Number(_) | ValueWord::Field(_) => Err("must be 1, \"pos\", \"dur\" or \"watched\"".to_owned()),
        }
    }
}

impl From<Value> for ValueWord {
    fn from(value: Value) -> Self {
        match value {
            Value::One => ValueWord::Number(1),
            Value::Pos => ValueWord::Field("pos".to_owned()),
            Value::Dur => ValueWord::Field("dur".to_owned()),
            Value::Watched => ValueWord::Field("watched".to_owned()),
        }
    }
}

/// States by their words on the wire.
mod state_words {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::beat::State;

    pub fn serialize<S: Serializer>(states: &Option<Vec<State>>, serializer: S) -> Result<S::Ok, S::Error> {
        let words = |states: &Vec<State>| states.iter().map(|state| state.word()).collect::<Vec<_>>();
        states.as_ref().map(words).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<State>>, D::Error> {
        let state = |word: String| {
            State::of_word(&word).ok_or_else(|| {
                D::Error::custom(format!(
                    "{word:?} is no state; write \"playing\", \"paused\", \"seeked\" or \"ended\""
                ))
            })
        };
        let words = Option::<Vec<String>>::deserialize(deserializer)?;
        words.map(|words| words.into_iter().map(state).collect()).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Definition, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn a_definition_is_read_as_it_is_written() {
        let text = r#"{"id":"x","key":["kind","oid"],"when":{"kind":[1],"state":["ended"],"finished":true},"value":1}"#;
        let definition: Definition = serde_json::from_str(text).unwrap();
        assert_eq!(definition.when.state, Some(vec![State::Ended]));
        let written = serde_json::to_string(&definition).unwrap();
        assert_eq!(serde_json::from_str::<Definition>(&written).unwrap(), definition);
        assert_eq!(read("id = \"x\"").unwrap().value, Value::One);
        assert_eq!(read("id = \"x\"\nvalue = \"watched\"").unwrap().value, Value::Watched);
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        for wrong in
            ["value = 2", "value = \"at\"", "key = [\"pos\"]", "when = { states = [] }", "when = { state = [\"x\"] }"]
        {
            assert!(read(&format!("id = \"x\"\n{wrong}")).is_err(), "{wrong}");
        }
    }
}
