//! The defaults, and what is laid over them: where each setting comes from stays known, to name it when it is wrong.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use toml::{Table, Value};

use super::DEFAULTS;
use super::error::Problem;
use super::kind::Kind;
use crate::model::secret::MASK;

const PREFIX: &str = "HEARTLINE__";

/// Keys that end like this hold secrets.
const SECRET_ENDINGS: [&str; 4] = ["_secret", "_key", "_password", "_token"];

/// Keys that end so and only name a file.
const NAMES_OF_FILES: [&str; 1] = ["tls_key"];

/// All settings, as a table of sections.
pub(super) struct Layers {
    table: Table,
    /// What each setting may be, by `section.key`.
    kinds: BTreeMap<String, Kind>,
    /// Where a setting was said, when it is not the default: by `section.key`.
    places: BTreeMap<String, String>,
}

impl Layers {
    pub(super) fn defaults() -> Self {
        let table: Table = DEFAULTS.parse().expect("the defaults are TOML, as a test checks");
        Layers { kinds: kinds(&table), table, places: BTreeMap::new() }
    }

    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// Lays a file over what is there; says what of it cannot be taken.
    pub(super) fn add_file(&mut self, path: &Path) -> Vec<Problem> {
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => self.add_text(&name, &text),
            Err(error) => vec![Problem::new(name, format!("cannot be read: {error}"))],
        }
    }

    pub(super) fn add_text(&mut self, file: &str, text: &str) -> Vec<Problem> {
        let sections: Table = match text.parse() {
            Ok(sections) => sections,
            Err(error) => return vec![Problem::new(at_line(file, text, &error), one_line(error.message()))],
        };
        let mut problems = Vec::new();
        for (section, value) in sections {
            if !self.table.contains_key(&section) {
                let hint = nearest(&section, self.table.keys());
                problems.push(Problem::new(format!("{file}: {section}"), unknown("section", hint)));
                continue;
            }
            match value {
                Value::Table(keys) => problems.extend(self.add_section(file, &section, keys)),
                _ => problems.push(Problem::new(format!("{file}: {section}"), "expected a section of settings")),
            }
        }
        problems
    }

    fn add_section(&mut self, file: &str, section: &str, keys: Table) -> Vec<Problem> {
        let set = |(key, value): (String, Value)| {
            let setting = format!("{section}.{key}");
            let place = format!("{file}: {setting}");
            let Some(&kind) = self.kinds.get(&setting) else {
                let hint = nearest(&setting, self.kinds.keys());
                return Err(Problem::new(place, unknown("setting", hint)));
            };
            let given = shown(&setting, &value);
            let value = kind.admit(value).ok_or_else(|| mistaken(&place, kind, &given))?;
            self.set(&setting, value, place);
            Ok(())
        };
        keys.into_iter().map(set).filter_map(Result::err).collect()
    }

    /// Lays the variables of this process over what is there; those of others are left alone.
    pub(super) fn add_environment(
        &mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Vec<Problem> {
        let mut ours: Vec<_> = variables.into_iter().filter(|(name, _)| is_ours(name)).collect();
        ours.sort();
        ours.into_iter().filter_map(|(name, value)| self.add_variable(&name.to_string_lossy(), value).err()).collect()
    }

    fn add_variable(&mut self, name: &str, value: OsString) -> Result<(), Problem> {
        let Some((setting, &kind)) = self.kinds.iter().find(|(setting, _)| variable(setting) == name) else {
            let meant = name[PREFIX.len()..].replace("__", ".").to_lowercase();
            let hint = nearest(&meant, self.kinds.keys()).map(|setting| variable(&setting));
            return Err(Problem::new(name, unknown("setting", hint)));
        };
        let setting = setting.clone();
        let Ok(text) = value.into_string() else { return Err(Problem::new(name, "is not UTF-8")) };
        let given = shown(&setting, &Value::String(text.clone()));
        let value = kind.read(&text).ok_or_else(|| mistaken(name, kind, &given))?;
        self.set(&setting, value, name.to_owned());
        Ok(())
    }

    fn set(&mut self, setting: &str, value: Value, place: String) {
        let (section, key) = setting.split_once('.').expect("a setting is section.key");
        self.table[section][key] = value;
        self.places.insert(setting.to_owned(), place);
    }

    /// Where a setting was said: its variable, or the file and its name; its name alone when it is the default.
    pub(super) fn place(&self, setting: &str) -> String {
        self.places.get(setting).cloned().unwrap_or_else(|| setting.to_owned())
    }

    /// A value of the right type that its part cannot take. `path`: `section.key`, perhaps with an index behind and a
    /// field behind that.
    pub(super) fn misfit(&self, path: &str, message: &str) -> Problem {
        let (setting, inner) = path.split_once('[').unwrap_or((path, ""));
        let (index, field) = inner.split_once(']').unwrap_or_default();
        let item = self.item(setting, index).map(|item| match field.strip_prefix('.') {
            Some(field) => format!("{item}: {field}: "),
            None => format!("{item}: "),
        });
        Problem::new(self.place(setting), item.unwrap_or_default() + &one_line(message))
    }

    /// What a table in a list is called: by its id, or by its place if it has none.
    fn item(&self, setting: &str, index: &str) -> Option<String> {
        let (section, key) = setting.split_once('.')?;
        let index: usize = index.parse().ok()?;
        let table = self.table.get(section)?.get(key)?.get(index)?.as_table()?;
        let singular = key.trim_end_matches('s');
        Some(match table.get("id").and_then(Value::as_str) {
            Some(id) => format!("{singular} {id:?}"),
            None => format!("{singular} {}", index + 1),
        })
    }

    /// As TOML, with secrets masked; one that is empty is shown to be.
    pub(super) fn masked(&self) -> String {
        let mut table = self.table.clone();
        for (_, section) in table.iter_mut() {
            for (key, value) in section.as_table_mut().into_iter().flat_map(Table::iter_mut) {
                if is_secret(key) && value.as_str() != Some("") {
                    *value = Value::String(MASK.to_owned());
                } else if let Some(url) = value.as_str().and_then(without_password) {
                    *value = Value::String(url);
                }
            }
        }
        toml::to_string(&table).expect("a table of settings is TOML")
    }
}

/// Takes a key with or without its section.
pub(super) fn is_secret(key: &str) -> bool {
    let key = key.rsplit('.').next().unwrap_or(key);
    SECRET_ENDINGS.iter().any(|ending| key.ends_with(ending)) && !NAMES_OF_FILES.contains(&key)
}

/// A URL that holds a password, without it.
fn without_password(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let (login, place) = rest.rsplit_once('@')?;
    let (user, _) = login.split_once(':')?;
    Some(format!("{scheme}://{user}:{MASK}@{place}"))
}

fn is_ours(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
}

/// `limits.beats` is `HEARTLINE__LIMITS__BEATS`.
fn variable(setting: &str) -> String {
    format!("{PREFIX}{}", setting.replace('.', "__").to_uppercase())
}

fn mistaken(place: &str, kind: Kind, given: &str) -> Problem {
    Problem::new(place, format!("expected {}, got {given}", kind.expected()))
}

/// A value in a message: on one line, and never a secret.
fn shown(setting: &str, value: &Value) -> String {
    match value {
        _ if is_secret(setting) => "something else".to_owned(),
        Value::String(text) => format!("{text:?}"),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => value.to_string(),
        Value::Array(_) => "another list".to_owned(),
        other => format!("a {}", other.type_str()),
    }
}

/// Only the line's number: the line itself may hold a secret.
fn at_line(file: &str, text: &str, error: &toml::de::Error) -> String {
    match error.span() {
        Some(span) => format!("{file}, line {}", 1 + text[..span.start].matches('\n').count()),
        None => file.to_owned(),
    }
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What was probably meant, if anything is close enough.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> Option<String> {
    let (distance, close) = known.map(|known| (strsim::damerau_levenshtein(name, known), known)).min()?;
    (distance <= name.len() / 3).then(|| close.clone())
}

fn unknown(what: &str, hint: Option<String>) -> String {
    let hint = hint.map(|name| format!("; did you mean {name}?"));
    format!("no such {what}{}", hint.unwrap_or_default())
}

fn kinds(defaults: &Table) -> BTreeMap<String, Kind> {
    let sections = defaults.iter().filter_map(|(section, keys)| Some((section, keys.as_table()?)));
    let settings = sections.flat_map(|(section, keys)| keys.iter().map(move |(key, value)| (section, key, value)));
    settings.map(|(section, key, value)| (format!("{section}.{key}"), Kind::of(value))).collect()
}
