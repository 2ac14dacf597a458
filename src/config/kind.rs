//! The types of settings, taken from their defaults.

use std::net::{SocketAddr, ToSocketAddrs};

use toml::Value;

/// The type of a setting. Durations and addresses are text in TOML; here they are told apart, so that a wrong one is
/// named for what it should have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Flag,
    Whole,
    /// Or of the same for several places, by their names.
    WholeOrTable,
    Fraction,
    Duration,
    Address,
    Text,
    Texts,
    Wholes,
    Tables,
}

impl Kind {
    pub(super) fn of(default: &Value) -> Self {
        match default {
            Value::Boolean(_) => Kind::Flag,
            Value::Integer(_) => Kind::Whole,
            Value::Float(_) => Kind::Fraction,
            Value::Array(items) if items.iter().any(Value::is_table) => Kind::Tables,
            Value::Array(items) if items.iter().any(Value::is_integer) => Kind::Wholes,
            Value::Array(_) => Kind::Texts,
            Value::String(text) if is_duration(text) => Kind::Duration,
            Value::String(text) if is_address(text) => Kind::Address,
            _ => Kind::Text,
        }
    }

    pub(super) fn expected(self) -> &'static str {
        match self {
            Kind::Flag => "true or false",
            Kind::Whole => "a whole number",
            Kind::WholeOrTable => "a whole number, or a table of them such as { dc1 = 3 }",
            Kind::Fraction => "a number",
            Kind::Duration => "a duration such as \"30s\"",
            Kind::Address => "an address with a port, such as \"127.0.0.1:7700\" or \"localhost:7700\"",
            Kind::Text => "a string",
            Kind::Texts => "a list of strings such as [\"a\", \"b\"]",
            Kind::Wholes => "a list of whole numbers such as [1, 2]",
            Kind::Tables => "a list of tables such as [{ id = \"a\" }]",
        }
    }

    /// The value as the setting keeps it; `None` when it is of another kind.
    pub(super) fn admit(self, value: Value) -> Option<Value> {
        let fits = match (self, &value) {
            (Kind::Flag, Value::Boolean(_)) | (Kind::Fraction, Value::Float(_)) | (Kind::Text, Value::String(_)) => {
                true
            }
            (Kind::Whole | Kind::WholeOrTable, Value::Integer(number)) => *number >= 0,
            (Kind::WholeOrTable, Value::Table(_)) => true,
            (Kind::Fraction, Value::Integer(number)) => return Some(Value::Float(*number as f64)),
            (Kind::Duration, Value::String(text)) => is_duration(text),
            (Kind::Address, Value::String(text)) => {
                return address(text).map(|address| Value::String(address.to_string()));
            }
            (Kind::Texts, Value::Array(items)) => items.iter().all(Value::is_str),
            (Kind::Wholes, Value::Array(items)) => {
                items.iter().all(|item| item.as_integer().is_some_and(|item| item >= 0))
            }
            (Kind::Tables, Value::Array(items)) => items.iter().all(Value::is_table),
            _ => false,
        };
        fits.then_some(value)
    }

    /// The value a text stands for in the environment. Texts are taken as they are, so that a secret of digits stays
    /// one; a list of them, or of numbers, may be written plainly, with commas; the rest is written as in TOML.
    pub(super) fn read(self, text: &str) -> Option<Value> {
        match self {
            Kind::Text | Kind::Duration | Kind::Address => self.admit(Value::String(text.to_owned())),
            Kind::Texts if !text.trim_start().starts_with('[') => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Some(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
            }
            Kind::Wholes if !text.trim_start().starts_with('[') => self.admit(format!("[{text}]").parse().ok()?),
            _ => self.admit(text.trim().parse().ok()?),
        }
    }
}

fn is_duration(text: &str) -> bool {
    humantime::parse_duration(text).is_ok()
}

fn is_address(text: &str) -> bool {
    text.parse::<SocketAddr>().is_ok()
}

/// An address, or a name of loopback addresses such as localhost. Other names are refused, because
/// their address may change, and with it who can reach the listener.
fn address(text: &str) -> Option<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let found: Vec<SocketAddr> = text.to_socket_addrs().ok()?.collect();
    if !found.iter().all(|address| address.ip().is_loopback()) {
        return None;
    }
    // That of the default, where a name has both.
    found.iter().find(|address| address.is_ipv4()).or(found.first()).copied()
}
