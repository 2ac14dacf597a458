//! The documents of counters: their ids, ranges of them, and how they are read.
//!
//! ```text
//! counters   { _id: "3:viewers:1!100", c: "3:viewers", k: "1!100", n: 17, s: { "0": 1795629312000000 } }
//! ```
//!
//! `c` is the generation and the counter, `k` the encoded key, `n` the number, and `s` as in [`super::document`]. A
//! document whose number is 0 stays, until its generation is dropped.

use mongodb::bson::{Document, doc};

use super::document::{Unreadable, whole};
use model::counters::{CounterId, CounterKey};
use model::sums::CounterSum;

pub(super) const COUNTERS: &str = "counters";
/// Beyond the separator of a key's parts, and less than all that is in a part.
const BEYOND_SEPARATOR: char = '"';

/// A counter in a generation: `c`.
#[derive(Clone, Debug)]
pub(super) struct Name(String);

impl Name {
    pub fn of(generation: u32, id: &CounterId) -> Self {
        Name(format!("{generation}:{id}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn document_id(&self, key: &CounterKey) -> String {
        format!("{}:{}", self.0, key.encoded())
    }

    /// The filter of the largest numbers. With the parts of a prefix MongoDB has the choice between the index of `n`,
    /// which leaves out other keys, and that of `_id`, which has to sort.
    pub fn beginning_with(&self, prefix: &CounterKey) -> Document {
        let mut filter = doc! { "c": &self.0, "n": { "$ne": 0 } };
        if !prefix.encoded().is_empty() {
            let range = |text: &str| doc! { "$gte": text, "$lt": format!("{text}{BEYOND_SEPARATOR}") };
            filter.insert("k", range(prefix.encoded()));
            filter.insert("_id", range(&self.document_id(prefix)));
        }
        filter
    }

    /// The filter of numbers in the order of `_id`.
    pub fn after(&self, after: Option<&CounterKey>) -> Document {
        let mut ids = doc! { "$lt": format!("{};", self.0) };
        match after {
            Some(key) => ids.insert("$gt", self.document_id(key)),
            None => ids.insert("$gte", format!("{}:", self.0)),
        };
        doc! { "_id": ids, "n": { "$ne": 0 } }
    }
}

pub(super) fn counter_id(CounterSum { generation, id, key }: &CounterSum) -> String {
    Name::of(*generation, id).document_id(key)
}

/// The order of the largest numbers of a counter, and the index with which it needs no sorting.
pub(super) fn largest_first() -> Document {
    doc! { "c": 1, "n": -1, "k": 1 }
}

/// The ids of all counters of a generation.
pub(super) fn of_generation(generation: u32) -> Document {
    doc! { "_id": { "$gte": format!("{generation}:"), "$lt": format!("{generation};") } }
}

pub(super) fn number(document: &Document) -> Result<i64, Unreadable> {
    document.get("n").and_then(whole).ok_or_else(|| Unreadable::new(COUNTERS, document, "n"))
}

pub(super) fn numbered_key(document: &Document) -> Result<(CounterKey, i64), Unreadable> {
    let key = document.get_str("k").map_err(|_| Unreadable::new(COUNTERS, document, "k"))?;
    Ok((CounterKey::of_encoded(key), number(document)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(parts: &[&str]) -> CounterKey {
        CounterKey::of(parts.iter().copied()).unwrap()
    }

    fn id(generation: u32, id: &str, parts: &[&str]) -> String {
        counter_id(&CounterSum { generation, id: id.parse().unwrap(), key: key(parts) })
    }

    /// Whether the range has the id.
    fn has(range: &Document, id: &str) -> bool {
        range.get_document("_id").unwrap().iter().all(|(word, bound)| {
            let bound = bound.as_str().unwrap();
            match &**word {
                "$gte" => id >= bound,
                "$gt" => id > bound,
                "$lt" => id < bound,
                _ => panic!("{word}"),
            }
        })
    }

    #[test]
    fn a_range_has_the_ids_of_its_counter_and_of_no_other() {
        let name = Name::of(3, &"a".parse().unwrap());
        let all = name.after(None);
        for parts in [&[][..], &["1"], &["1", "2"], &["~"], &["ä"]] {
            assert!(has(&all, &id(3, "a", parts)), "{parts:?}");
        }
        for (generation, other) in [(3, "aa"), (3, "a-"), (3, "A"), (3, "a.b"), (2, "a"), (30, "a"), (33, "a")] {
            assert!(!has(&all, &id(generation, other, &["1"])), "{generation}:{other}");
        }
        let later = name.after(Some(&key(&["1"])));
        assert!(has(&later, &id(3, "a", &["1", "0"])) && !has(&later, &id(3, "a", &["1"])));
    }

    #[test]
    fn a_range_of_a_prefix_has_what_begins_with_its_parts() {
        let name = Name::of(3, &"a".parse().unwrap());
        let prefix = key(&["1", "tv"]);
        let range = name.beginning_with(&prefix);
        for parts in [&["1", "tv"][..], &["1", "tv", "-"], &["1", "tv", "x"], &["1", "tv-"], &["1", "tv2"], &["1"]] {
            assert_eq!(has(&range, &id(3, "a", parts)), key(parts).begins_with(&prefix), "{parts:?}");
        }
        assert!(!name.beginning_with(&key(&[])).contains_key("_id"));
    }

    #[test]
    fn a_range_of_a_generation_has_no_other() {
        let range = of_generation(3);
        assert!(has(&range, &id(3, "a", &[])) && has(&range, &id(3, "z", &["1"])));
        for other in [2, 30, 31, 33, 39, 4] {
            assert!(!has(&range, &id(other, "a", &["1"])), "{other}");
        }
    }

    #[test]
    fn unreadable_documents_are_named() {
        let refused = numbered_key(&doc! { "_id": "3:a:1", "k": "1", "n": "x" }).expect_err("no number");
        assert_eq!(refused.to_string(), "document \"3:a:1\" of the collection counters has no usable n");
        assert!(numbered_key(&doc! { "_id": "3:a:1", "k": 1, "n": 1 }).is_err());
        assert_eq!(numbered_key(&doc! { "k": "1!2", "n": -7_i64 }), Ok((key(&["1", "2"]), -7)));
    }
}
