//! Settings of the statistics store. Each is explained, with its default, in `deploy/heartline.toml`.

use serde::Deserialize;

use model::secret::Secret;

/// `[statistics]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatisticsConfig {
    pub store: Backend,
    /// May hold a password.
    pub url: Secret,
    pub database: String,
}

/// The store that keeps totals and days permanently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// In the embedded hot store.
    Embedded,
    Mongodb,
}

const DATABASE_BYTES_MAX: usize = 63;
/// MongoDB's own databases: documents there would be lost or not replicated.
const RESERVED: [&str; 3] = ["admin", "config", "local"];

/// Whether MongoDB accepts this name of a database, on any system.
pub fn is_database(name: &str) -> bool {
    let plain = |letter: char| !r#"/\. "$*<>:|?"#.contains(letter) && !letter.is_control();
    (1..=DATABASE_BYTES_MAX).contains(&name.len()) && name.chars().all(plain) && !RESERVED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_databases_are_those_that_mongodb_takes() {
        let longest = "d".repeat(DATABASE_BYTES_MAX);
        for name in ["heartline", "heartline-2_b", "größe", &longest] {
            assert!(is_database(name), "{name}");
        }
        let longer = "d".repeat(DATABASE_BYTES_MAX + 1);
        for name in ["", "a.b", "a/b", r"a\b", "a b", "a\"b", "a$b", "a:b", "a\0b", "admin", "local", &longer] {
            assert!(!is_database(name), "{name}");
        }
    }
}
