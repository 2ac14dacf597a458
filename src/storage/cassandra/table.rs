//! The table, and the check of an existing one.
//!
//! ```text
//! partition mid        static: watermark, floor, switches, forgotten
//! └─ kind, oid         pos, dur, state, session, device, watched, at, tombstone, version
//! ```
//!
//! Ids are u64, kept as bigint of the same 64 bits.

use std::collections::BTreeMap;

pub(super) const TABLE: &str = "history";

/// Longer than packs are kept on the bus: a pack that is read again cannot meet a delete whose marks are gone.
pub(super) const GC_GRACE_SECONDS: i32 = 10 * 24 * 60 * 60;

/// If the replicas of a quorum differ, all that were asked are made the same before the read is answered. It is the default.
pub(super) const READ_REPAIR: &str = "BLOCKING";

/// Name, type and part of the key of every column.
pub(super) const COLUMNS: [Column; 16] = [
    Column("mid", "bigint", "partition_key"),
    Column("kind", "int", "clustering"),
    Column("oid", "bigint", "clustering"),
    Column("watermark", "bigint", "static"),
    Column("floor", "bigint", "static"),
    Column("switches", "frozen<list<frozen<tuple<bigint, boolean>>>>", "static"),
    Column("forgotten", "bigint", "static"),
    Column("pos", "bigint", "regular"),
    Column("dur", "bigint", "regular"),
    Column("state", "tinyint", "regular"),
    Column("session", "bigint", "regular"),
    Column("device", "text", "regular"),
    Column("watched", "bigint", "regular"),
    Column("at", "bigint", "regular"),
    Column("tombstone", "bigint", "regular"),
    Column("version", "bigint", "regular"),
];

/// Name, type, and what Cassandra calls its kind.
pub(super) struct Column(pub &'static str, pub &'static str, pub &'static str);

/// A column that is there.
pub(super) struct Found {
    pub r#type: String,
    pub kind: String,
    /// Among those of its kind in the key.
    pub position: i32,
}

/// The statement that creates the table. An operator may change all options after WITH.
pub(super) fn creation(keyspace: &str) -> String {
    let columns = COLUMNS.map(|Column(name, r#type, kind)| {
        let is_static = if kind == "static" { " static" } else { "" };
        format!("{name} {type}{is_static}")
    });
    format!(
        "CREATE TABLE IF NOT EXISTS {keyspace}.{TABLE} ({}, PRIMARY KEY (mid, kind, oid)) WITH gc_grace_seconds = {} AND \
         compaction = {{'class': 'LeveledCompactionStrategy'}}",
        columns.join(", "),
        GC_GRACE_SECONDS
    )
}

/// The mistakes of the existing columns, by name. Additional columns are ignored.
pub(super) fn mistakes(keyspace: &str, found: &BTreeMap<String, Found>) -> Vec<String> {
    let mut mistakes = Vec::new();
    for Column(name, r#type, kind) in COLUMNS {
        let wanted = format!("{type}, {kind}");
        match found.get(name) {
            None => mistakes.push(format!("{keyspace}.{TABLE} has no column {name} ({wanted})")),
            Some(there) if there.r#type != r#type || there.kind != kind => mistakes.push(format!(
                "{keyspace}.{TABLE} has a column {name} ({}, {}) where ({wanted}) is needed",
                there.r#type, there.kind
            )),
            Some(_) => {}
        }
    }
    let key = |kind: &str| {
        let mut key: Vec<_> = found.iter().filter(|(_, column)| column.kind == kind).collect();
        key.sort_by_key(|(_, column)| column.position);
        key.into_iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>()
    };
    if mistakes.is_empty() && (key("partition_key") != ["mid"] || key("clustering") != ["kind", "oid"]) {
        mistakes.push(format!("{keyspace}.{TABLE} has another key than (mid, kind, oid)"));
    }
    if !mistakes.is_empty() {
        mistakes.push(format!(
            "{keyspace}.{TABLE} is another table: set cassandra.keyspace to one of your own, or drop the table"
        ));
    }
    mistakes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> BTreeMap<String, Found> {
        let position = |name: &str| i32::from(name == "oid");
        let column = |Column(name, r#type, kind): Column| {
            let found = Found { r#type: r#type.to_owned(), kind: kind.to_owned(), position: position(name) };
            (name.to_owned(), found)
        };
        COLUMNS.map(column).into_iter().collect()
    }

    #[test]
    fn additional_columns_are_accepted() {
        let mut found = ours();
        found.insert("note".to_owned(), Found { r#type: "text".to_owned(), kind: "regular".to_owned(), position: -1 });
        assert_eq!(mistakes("ks", &found), [""; 0]);
    }

    #[test]
    fn each_column_that_is_missing_or_other_is_named() {
        let mut found = ours();
        found.remove("device");
        found.get_mut("pos").expect("a column").r#type = "int".to_owned();
        let mistakes = mistakes("ks", &found);
        assert_eq!(mistakes.len(), 3, "{mistakes:?}");
        assert!(mistakes[0].contains("a column pos (int, regular) where (bigint, regular) is needed"));
        assert!(mistakes[1].contains("no column device (text, regular)"));
    }

    #[test]
    fn another_order_of_the_key_columns_is_refused() {
        let mut found = ours();
        found.get_mut("kind").expect("a column").position = 2;
        assert!(mistakes("ks", &found)[0].contains("another key"));
    }
}
