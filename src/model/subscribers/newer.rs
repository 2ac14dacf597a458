//! The parts of a subscriber that a newer version has written: this version keeps them and does nothing with them,
//! since an upgrade may be rolled back and made again.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event_type::EventType;
use super::filter::Filter;

/// Types of events, fields of the filter, and other fields that this version does not know. There are none nearly always.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Newer(Option<Box<Unknown>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Unknown {
    types: Vec<String>,
    filter: Map<String, Value>,
    fields: Map<String, Value>,
}

/// A filter as it is stored.
#[derive(Default, Deserialize, Serialize)]
pub struct WrittenFilter {
    #[serde(flatten)]
    known: Filter,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

impl Newer {
    /// Splits types and filter into those that this version knows, and the rest.
    pub fn apart(
        types: Vec<String>,
        filter: WrittenFilter,
        fields: Map<String, Value>,
    ) -> (Vec<EventType>, Filter, Self) {
        let (mut known, mut unknown) = (Vec::new(), Unknown { filter: filter.unknown, fields, ..Unknown::default() });
        for name in types {
            match name.parse::<EventType>() {
                Ok(event_type) => known.push(event_type),
                Err(_) => unknown.types.push(name),
            }
        }
        let newer = Newer((unknown != Unknown::default()).then(|| Box::new(unknown)));
        (known, filter.known, newer)
    }

    /// Types, filter and further fields, as they were.
    pub fn together(self, types: Vec<EventType>, known: Filter) -> (Vec<String>, WrittenFilter, Map<String, Value>) {
        let Unknown { types: others, filter: unknown, fields } = self.0.map(|unknown| *unknown).unwrap_or_default();
        let types = types.into_iter().map(String::from).chain(others).collect();
        (types, WrittenFilter { known, unknown }, fields)
    }
}
