//! The records that the gateway has stored of one user: the newest beat of each content.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::number::{field, id, integer};

#[derive(Default)]
pub struct Records(HashMap<(u64, u64), Value>);

impl Records {
    /// Stores a beat if it is the newest of its content.
    pub fn put(&mut self, beat: &Value) {
        let place = content(beat);
        if self.0.get(&place).is_none_or(|stored| order(stored) <= order(beat)) {
            self.0.insert(place, record(beat));
        }
    }

    pub fn remove(&mut self, item: &Value) {
        self.0.remove(&content(item));
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// In the order asked, null where nothing is stored.
    pub fn of(&self, items: &Value) -> Vec<Value> {
        let found = |item: &Value| self.0.get(&content(item)).cloned().unwrap_or(Value::Null);
        items.as_array().into_iter().flatten().map(found).collect()
    }

    /// The newest first.
    pub fn all(&self) -> Vec<Value> {
        let mut all: Vec<Value> = self.0.values().cloned().collect();
        all.sort_by_key(|record| std::cmp::Reverse(order(record)));
        all
    }
}

fn content(item: &Value) -> (u64, u64) {
    (integer(&item["kind"]).unwrap_or_default(), id(&item["oid"]).unwrap_or_default())
}

fn order(beat: &Value) -> (u64, u64) {
    (integer(&beat["at"]).unwrap_or_default(), id(&beat["session"]).unwrap_or_default())
}

/// The record that a beat becomes. The thresholds of reading are left out: it resumes where it was.
pub fn record(beat: &Value) -> Value {
    let number = |name| field(beat, name).and_then(integer).unwrap_or_default();
    let (pos, dur) = (number("pos"), number("dur"));
    let is_finished = beat["state"] == "ended";
    let mut record = json!({
        "kind": beat["kind"], "oid": id(&beat["oid"]).unwrap_or_default().to_string(), "pos": pos, "dur": dur,
        "state": beat["state"], "session": id(&beat["session"]).unwrap_or_default().to_string(),
        "watched": number("watched"), "at": number("at"), "finished": is_finished,
        "resume": if is_finished { 0 } else { pos },
    });
    if dur > 0 {
        record["progress"] = json!((pos as f64 / dur as f64 * 1000.0).round() / 1000.0);
    }
    if let Some(device) = field(beat, "device") {
        record["device"] = device.clone();
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(at: u64, pos: u64) -> Value {
        json!({"kind": 1, "oid": "0100", "pos": pos, "dur": 1000, "state": "playing", "session": 7, "at": at})
    }

    #[test]
    fn the_newest_beat_is_the_record() {
        let mut records = Records::default();
        for (at, pos) in [(2, 20), (1, 10), (3, 500)] {
            records.put(&beat(at, pos));
        }
        let found = records.of(&json!([{"kind": 1, "oid": 100}, {"kind": 2, "oid": "100"}]));
        assert_eq!(found[0]["resume"], 500);
        assert_eq!(found[0]["progress"], 0.5);
        assert_eq!(found[1], Value::Null);
        records.remove(&json!({"kind": 1, "oid": "100"}));
        assert!(records.all().is_empty());
    }
}
