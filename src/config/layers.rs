//! The defaults, and what is laid over them: where each setting comes from stays known, to name it when it is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;

use toml::{Table, Value};

use super::DEFAULTS;
use super::error::Problem;
use super::kind::Kind;
use super::secrets::{self, is_secret};
use model::secret::MASK;

const PREFIX: &str = "HEARTLINE__";

/// Settings that have another name now, with the new one.
const RENAMED: [(&str, &str); 1] = [("kafka.topic", "kafka.topics.rewards")];

/// Settings whose default is a number, and that may be a table as well.
const NUMBERS_OR_TABLES: [&str; 1] = ["cassandra.replication"];

/// Lists of numbers that are empty by default, which shows no type.
const LISTS_OF_NUMBERS: [&str; 2] = ["live.widget_kinds", "views.by_playback"];

/// Lists of tables that are empty by default, likewise.
const LISTS_OF_TABLES: [&str; 4] = ["control.callers", "counters.derived", "counters.direct", "grpc.callers"];

/// All settings, as a table of sections. A section may hold others: `kafka.topics`.
#[derive(Clone)]
pub(super) struct Layers {
    table: Table,
    /// The kind of each setting, by `section.key`.
    kinds: BTreeMap<String, Kind>,
    /// Where a setting was said, when it is not the default: by `section.key`.
    places: BTreeMap<String, String>,
    /// Settings that were given and could not be taken: their defaults are in the table, and say nothing.
    broken: BTreeSet<String>,
    /// Entries that were taken out of lists, by the index at which they were given.
    dropped: BTreeMap<String, BTreeSet<usize>>,
    /// A file could not be read, so it is not known what it sets.
    pub unread: bool,
}

impl Layers {
    pub(super) fn defaults() -> Self {
        let table: Table = DEFAULTS.parse().expect("the defaults are TOML, as a test checks");
        Layers {
            kinds: kinds(&table),
            table,
            places: BTreeMap::new(),
            broken: BTreeSet::new(),
            dropped: BTreeMap::new(),
            unread: false,
        }
    }

    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    pub(super) fn value(&self, setting: &str) -> Option<&Value> {
        value(&self.table, setting)
    }

    /// Changes the default of a setting. One that was given stays.
    pub(super) fn change_default(&mut self, setting: &str, default: impl Into<Value>) {
        if !self.is_given(setting)
            && let Some(slot) = slot(&mut self.table, setting)
        {
            *slot = default.into();
        }
    }

    /// Lays a file over what is there; says what of it cannot be taken.
    pub(super) fn add_file(&mut self, path: &Path) -> Vec<Problem> {
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => self.add_text(&name, &text),
            Err(error) => {
                self.unread = true;
                vec![Problem::new(name, format!("cannot be read: {error}"))]
            }
        }
    }

    pub(super) fn add_text(&mut self, file: &str, text: &str) -> Vec<Problem> {
        let sections: Table = match text.parse() {
            Ok(sections) => sections,
            Err(error) => {
                self.unread = true;
                return vec![Problem::new(at_line(file, text, &error), one_line(error.message()))];
            }
        };
        let mut problems = Vec::new();
        for (section, value) in sections {
            if !self.table.contains_key(&section) {
                let hint = nearest(&section, self.table.keys());
                problems.push(Problem::new(format!("{file}: {section}"), unknown("section", hint)));
                continue;
            }
            problems.extend(self.add_section(file, &section, value));
        }
        problems
    }

    fn add_section(&mut self, file: &str, section: &str, value: Value) -> Vec<Problem> {
        let Value::Table(keys) = value else {
            return vec![Problem::new(
                format!("{file}: {section}"),
                format!("expected a section, such as [{section}]"),
            )];
        };
        let mut problems = Vec::new();
        for (key, value) in keys {
            let name = format!("{section}.{key}");
            match self.is_section(&name) {
                true => problems.extend(self.add_section(file, &name, value)),
                false => problems.extend(self.add_setting(file, &name, value).err()),
            }
        }
        problems
    }

    /// Whether settings have this name and a dot in front of theirs.
    fn is_section(&self, name: &str) -> bool {
        self.kinds.keys().any(|setting| setting.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
    }

    fn add_setting(&mut self, file: &str, setting: &str, value: Value) -> Result<(), Problem> {
        let layer = format!("{file}: ");
        let place = format!("{layer}{setting}");
        let Some(&kind) = self.kinds.get(setting) else {
            return match (self.secret_of_file(setting), value) {
                (Some(secret), Value::String(path)) => self.add_secret(secret, &path, place, &layer),
                _ => Err(self.unknown_setting(setting, place, str::to_owned)),
            };
        };
        let given = shown(setting, &value);
        match kind.admit(value) {
            Some(value) => self.set(setting, value, place, &layer),
            None => Err(self.mistaken(setting, place, kind, &given)),
        }
    }

    /// `place` names no setting, and `name` is how one is written there. What was probably meant is taken for broken.
    fn unknown_setting(&mut self, given: &str, place: String, name: impl Fn(&str) -> String) -> Problem {
        let message = match (renamed(given), nearest(given, self.kinds.keys())) {
            (Some(new), _) => {
                self.broken.insert(new.to_owned());
                format!("is now called {}", name(new))
            }
            (None, near) => {
                self.broken.extend(near.clone());
                unknown("setting", near.map(|near| name(&near)))
            }
        };
        Problem::new(place, message)
    }

    /// Lays the variables of this process over what is there. Variables of other programs are ignored.
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
            let given = name[PREFIX.len()..].replace("__", ".").to_lowercase();
            if let (Some(secret), Some(path)) = (self.secret_of_file(&given), value.to_str()) {
                return self.add_secret(secret, path, name.to_owned(), PREFIX);
            }
            return Err(self.unknown_setting(&given, name.to_owned(), variable));
        };
        let setting = setting.clone();
        let Ok(text) = value.into_string() else {
            return Err(self.unusable(&setting, name.to_owned(), "is not UTF-8"));
        };
        let given = shown(&setting, &Value::String(text.clone()));
        match kind.read(&text) {
            Some(value) => self.set(&setting, value, name.to_owned(), PREFIX),
            None => Err(self.mistaken(&setting, name.to_owned(), kind, &given)),
        }
    }

    /// The secret whose file this setting names, if it does.
    pub(super) fn secret_of_file<'g>(&self, given: &'g str) -> Option<&'g str> {
        secrets::setting_of(given).filter(|setting| self.kinds.get(*setting) == Some(&Kind::Text))
    }

    /// Sets a secret to what is in the file at `path`.
    fn add_secret(&mut self, setting: &str, path: &str, place: String, layer: &str) -> Result<(), Problem> {
        match secrets::read(path) {
            Ok(secret) => self.set(setting, Value::String(secret), place, layer),
            Err(why) => Err(self.unusable(setting, place, why)),
        }
    }

    /// `layer`: how the places of this layer begin. It sets each setting once.
    fn set(&mut self, setting: &str, value: Value, place: String, layer: &str) -> Result<(), Problem> {
        if let Some(other) = self.places.get(setting).filter(|place| place.starts_with(layer)) {
            let why = format!("{other} sets it, too; set one of them");
            return Err(self.unusable(setting, place, why));
        }
        *slot(&mut self.table, setting).expect("a setting has a default") = value;
        self.places.insert(setting.to_owned(), place);
        Ok(())
    }

    fn unusable(&mut self, setting: &str, place: String, why: impl Into<String>) -> Problem {
        self.broken.insert(setting.to_owned());
        Problem::new(place, why)
    }

    fn mistaken(&mut self, setting: &str, place: String, kind: Kind, given: &str) -> Problem {
        self.unusable(setting, place, format!("expected {}, got {given}", kind.expected()))
    }

    /// Where a setting was said: its variable, or the file and its name; its name alone when it is the default.
    /// `setting` may name an entry of a list, as in `server.origins[1]`.
    pub(super) fn place(&self, setting: &str) -> String {
        let (name, entry) = setting.split_at(setting.find('[').unwrap_or(setting.len()));
        self.places.get(name).map_or_else(|| setting.to_owned(), |place| format!("{place}{entry}"))
    }

    /// Whether the setting was said, and not only the default.
    pub(super) fn is_given(&self, setting: &str) -> bool {
        self.places.contains_key(setting)
    }

    /// Whether the setting was said, and is not the default.
    pub(super) fn is_changed(&self, setting: &str) -> bool {
        self.is_given(setting) && value(&self.table, setting) != value(Self::defaults().table(), setting)
    }

    /// Whether this text names a setting that could not be taken.
    pub(super) fn names_broken(&self, text: &str) -> bool {
        self.broken.iter().any(|setting| text.contains(setting))
    }

    pub(super) fn sections(&self) -> impl Iterator<Item = &str> {
        self.table.keys().map(String::as_str)
    }

    pub(super) fn settings(&self) -> impl Iterator<Item = &String> {
        self.kinds.keys()
    }

    /// A value of the right type that its part cannot take. `path`: `section.key`, perhaps with an index and a
    /// field after that. The setting falls back to its default, or loses the entry, so that the rest can be checked.
    /// `None` when the path leads nowhere.
    pub(super) fn misfit(&mut self, path: &str, message: &str) -> Option<Problem> {
        let (setting, inner) = path.split_once('[').unwrap_or((path, ""));
        let (index, field) = inner.split_once(']').unwrap_or_default();
        let Ok(index) = index.parse::<usize>() else {
            // The text after the key is a key in a table.
            let known = self.kinds.keys().find(|known| setting.starts_with(&format!("{known}.")));
            let (setting, field) = setting.split_at(known.map_or(setting.len(), String::len));
            self.give_up(setting)?;
            let field = field.strip_prefix('.').map(|field| format!("{field}: ")).unwrap_or_default();
            return Some(Problem::new(self.place(setting), format!("{field}{}", one_line(message))));
        };
        let (entry, given_index) = self.drop_entry(setting, index)?;
        let Value::Table(entry) = entry else {
            return Some(Problem::new(self.place(&format!("{setting}[{given_index}]")), one_line(message)));
        };
        let field = field.strip_prefix('.').map(|field| format!("{field}: ")).unwrap_or_default();
        let message = format!("{}: {field}{}", name_of(setting, &entry, given_index), one_line(message));
        Some(Problem::new(self.place(setting), message))
    }

    fn give_up(&mut self, setting: &str) -> Option<()> {
        let default = slot(&mut Self::defaults().table, setting)?.clone();
        *slot(&mut self.table, setting)? = default;
        self.broken.insert(setting.to_owned());
        Some(())
    }

    /// The entry, and the index that it was given at.
    fn drop_entry(&mut self, setting: &str, index: usize) -> Option<(Value, usize)> {
        let entries = slot(&mut self.table, setting)?.as_array_mut()?;
        let entry = (index < entries.len()).then(|| entries.remove(index))?;
        if entries.is_empty() {
            self.broken.insert(setting.to_owned());
        }
        let dropped = self.dropped.entry(setting.to_owned()).or_default();
        let given_index = dropped.iter().fold(index, |given, dropped| given + usize::from(*dropped <= given));
        dropped.insert(given_index);
        Some((entry, given_index))
    }

    /// As TOML, with secrets masked; one that is empty is shown to be.
    pub(super) fn masked(&self) -> String {
        let mut table = self.table.clone();
        mask(&mut table);
        toml::to_string(&table).expect("a table of settings is TOML")
    }
}

fn value<'a>(table: &'a Table, setting: &str) -> Option<&'a Value> {
    let (section, key) = setting.rsplit_once('.')?;
    section.split('.').try_fold(table, |table, name| table.get(name)?.as_table())?.get(key)
}

/// Where the value of a setting is.
fn slot<'a>(table: &'a mut Table, setting: &str) -> Option<&'a mut Value> {
    let (section, key) = setting.rsplit_once('.')?;
    let section = section.split('.').try_fold(table, |table, name| table.get_mut(name)?.as_table_mut())?;
    section.get_mut(key)
}

fn mask(table: &mut Table) {
    for (key, value) in table.iter_mut() {
        if let Some(section) = value.as_table_mut() {
            mask(section);
        } else if is_secret(key) && value.as_str().is_some_and(|text| !text.is_empty()) {
            *value = Value::String(MASK.to_owned());
        } else if let Some(url) = value.as_str().and_then(without_password) {
            *value = Value::String(url);
        }
    }
}

/// The name of a table in a list: its id, or its index if it has none.
fn name_of(setting: &str, entry: &Table, index: usize) -> String {
    let key = setting.rsplit_once('.').map_or(setting, |(_, key)| key);
    let singular = key.trim_end_matches('s');
    match entry.get("id").and_then(Value::as_str) {
        Some(id) => format!("{singular} {id:?}"),
        None => format!("{singular} {}", index + 1),
    }
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
pub(super) fn variable(setting: &str) -> String {
    format!("{PREFIX}{}", setting.replace('.', "__").to_uppercase())
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

/// The present name of a setting that once had this name.
pub(super) fn renamed(setting: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(old, _)| *old == setting).map(|(_, new)| *new)
}

/// The name that was probably meant, if any is close enough.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> Option<String> {
    let (distance, close) = known.map(|known| (strsim::damerau_levenshtein(name, known), known)).min()?;
    (distance <= name.len() / 3).then(|| close.clone())
}

fn unknown(what: &str, hint: Option<String>) -> String {
    let hint = hint.map(|name| format!("; did you mean {name}?"));
    format!("no such {what}{}", hint.unwrap_or_default())
}

fn kinds(defaults: &Table) -> BTreeMap<String, Kind> {
    let mut kinds = BTreeMap::new();
    for (section, keys) in defaults {
        add_kinds(section, keys, &mut kinds);
    }
    kinds
}

/// Adds the kind of a setting, or of all settings in a section.
fn add_kinds(name: &str, value: &Value, kinds: &mut BTreeMap<String, Kind>) {
    match value {
        Value::Table(keys) => keys.iter().for_each(|(key, value)| add_kinds(&format!("{name}.{key}"), value, kinds)),
        _ if NUMBERS_OR_TABLES.contains(&name) => drop(kinds.insert(name.to_owned(), Kind::WholeOrTable)),
        _ if LISTS_OF_TABLES.contains(&name) => drop(kinds.insert(name.to_owned(), Kind::Tables)),
        _ if LISTS_OF_NUMBERS.contains(&name) => drop(kinds.insert(name.to_owned(), Kind::Wholes)),
        setting => drop(kinds.insert(name.to_owned(), Kind::of(setting))),
    }
}
