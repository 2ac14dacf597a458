//! The settings that all gateways on one Redis must have alike, as texts that can be compared: they decide what is kept,
//! counted and rewarded there.

use std::collections::BTreeMap;

use toml::Value;

use super::layers::Layers;
use model::duration_text::of_duration;

/// A name that ends with a dot stands for all settings of a section.
const ALIKE: [&str; 13] = [
    "auth.subjects",
    "contents.ids",
    "counters.derived",
    "counters.direct",
    "events.deployment",
    "reading.",
    "rewards.rules",
    "rewards.zone",
    "statistics.database",
    "statistics.store",
    "store.records_per_user",
    "store.retention",
    "views.",
];

/// The effective values, by name.
pub(super) fn of(layers: &Layers) -> BTreeMap<String, String> {
    let is_alike = |setting: &&String| {
        ALIKE.iter().any(|name| if name.ends_with('.') { setting.starts_with(name) } else { setting == name })
    };
    let settings = layers.settings().filter(is_alike);
    settings.filter_map(|setting| Some((setting.clone(), text(layers.value(setting)?)))).collect()
}

/// Equal values have equal texts, however they are written; the text changes with no version of a library.
fn text(value: &Value) -> String {
    match value {
        Value::String(given) => match humantime::parse_duration(given) {
            Ok(duration) => of_duration(duration),
            Err(_) => format!("{given:?}"),
        },
        Value::Float(number) if number.fract() == 0.0 => format!("{number:.0}"),
        Value::Array(values) => format!("[{}]", values.iter().map(text).collect::<Vec<_>>().join(", ")),
        Value::Table(table) => {
            let mut entries: Vec<_> = table.iter().map(|(key, value)| format!("{key} = {}", text(value))).collect();
            entries.sort();
            format!("{{{}}}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> BTreeMap<String, String> {
        let mut layers = Layers::defaults();
        assert!(layers.add_text("a file", text).is_empty(), "{text}");
        of(&layers)
    }

    #[test]
    fn each_setting_that_decides_what_is_kept_is_among_them() {
        let defaults = with("");
        for (setting, text) in [
            ("auth.subjects", "\"number\""),
            ("contents.ids", "\"number\""),
            ("store.retention", "90d"),
            ("store.records_per_user", "10000"),
            ("rewards.zone", "\"UTC\""),
            ("events.deployment", "\"local\""),
            ("views.by_playback", "[1, 2]"),
            ("views.public", "false"),
            ("reading.finished_at", "0.9"),
            ("reading.resume_below_max", "3m"),
            ("counters.direct", "[]"),
            ("counters.derived", "[]"),
        ] {
            assert_eq!(defaults.get(setting).map(String::as_str), Some(text), "{setting}");
        }
        let rules = &defaults["rewards.rules"];
        assert!(rules.starts_with("[{exact = true, id = \"first-of-day\", kinds = [], per = \"user\""), "{rules}");
        // A gateway may have its own.
        for setting in ["counters.flush_interval", "server.listen", "store.data_dir", "store.group_interval"] {
            assert!(!defaults.contains_key(setting), "{setting}");
        }
    }

    #[test]
    fn equal_values_are_equal_however_they_are_written() {
        let one = with("[store]\nretention = \"48h\"\n[reading]\nresume_below_max = \"90s\"");
        let other = with("[store]\nretention = \"2d\"\n[reading]\nresume_below_max = \"1m 30s\"");
        assert_eq!(one, other);
        assert_eq!(one["store.retention"], "2d");
        let rule = |text: &str| with(&format!("[rewards]\nrules = [{{ {text} }}]"))["rewards.rules"].clone();
        let (one, other) =
            ("id = \"a\", per = \"user\", watched = \"60s\"", "per = \"user\", watched = \"1m\", id = \"a\"");
        assert_eq!(rule(one), rule(other));
        assert_ne!(rule(one), rule("id = \"a\", per = \"user\", watched = \"61s\""));
    }
}
