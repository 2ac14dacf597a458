//! Whether a frame is one of the protocol. It is read as raw JSON, since the gateway's own types would forgive what they
//! leave out.

use serde_json::Value;

use super::number::{field, id, integer};

const OPERATIONS: [&str; 8] = ["hello", "beats", "get", "list", "delete", "clear", "recording", "token"];
const STATES: [&str; 4] = ["playing", "paused", "seeked", "ended"];
const NAME_BYTES_MAX: usize = 64;
const TOKEN_BYTES_MAX: usize = 4096;
const RATE_MAX: f64 = 16.0;

type Checked = Result<(), String>;

/// An error says what is wrong with the frame.
pub fn check(frame: &Value) -> Checked {
    if !frame["seq"].as_u64().is_some_and(|seq| (1..=u64::from(u32::MAX)).contains(&seq)) {
        return Err("seq: must be an integer from 1 to 4294967295".into());
    }
    let found: Vec<&str> = OPERATIONS.into_iter().filter(|name| field(frame, name).is_some()).collect();
    let [operation] = found[..] else { return Err(format!("{} operations, not one", found.len())) };
    let body = &frame[operation];
    if !body.is_object() {
        return Err(format!("{operation}: must be an object"));
    }
    self::body(operation, body).map_err(|wrong| format!("{operation}.{wrong}"))
}

/// The same of the body of `POST /v1/beats`.
pub fn check_post(body: &Value) -> Checked {
    text(body, "flag", usize::MAX)?;
    text(body, "device", NAME_BYTES_MAX)?;
    items(body, beat)
}

fn body(operation: &str, body: &Value) -> Checked {
    match operation {
        "hello" => {
            text(body, "device", NAME_BYTES_MAX)?;
            text(body, "client", NAME_BYTES_MAX)?;
            text(body, "token", TOKEN_BYTES_MAX)?;
            optional(body, "ack_delay", |value| integer(value).is_some())
        }
        "beats" => {
            text(body, "flag", usize::MAX)?;
            items(body, beat)
        }
        "get" => items(body, content),
        "delete" => {
            items(body, content)?;
            required(body, "at", |value| integer(value).is_some())
        }
        "list" => {
            optional(body, "limit", |value| integer(value).is_some_and(|limit| limit > 0))?;
            text(body, "cursor", 256)?;
            optional(body, "kinds", Value::is_array)?;
            optional(body, "finished", Value::is_boolean)
        }
        "clear" => required(body, "at", |value| integer(value).is_some()),
        "recording" => {
            required(body, "paused", Value::is_boolean)?;
            required(body, "at", |value| integer(value).is_some())
        }
        _ => required(body, "token", Value::is_string),
    }
}

fn items(body: &Value, check: fn(&Value) -> Checked) -> Checked {
    let items = body["items"].as_array().ok_or("items: must be an array")?;
    let checked =
        items.iter().enumerate().map(|(at, item)| check(item).map_err(|wrong| format!("items[{at}].{wrong}")));
    checked.collect()
}

fn content(item: &Value) -> Checked {
    required(item, "kind", |value| integer(value).is_some_and(|kind| kind <= u64::from(u16::MAX)))?;
    required(item, "oid", |value| id(value).is_some())
}

fn beat(item: &Value) -> Checked {
    content(item)?;
    required(item, "session", |value| id(value).is_some())?;
    required(item, "state", |value| value.as_str().is_some_and(|state| STATES.contains(&state)))?;
    for name in ["pos", "at"] {
        required(item, name, |value| integer(value).is_some())?;
    }
    for name in ["dur", "watched"] {
        optional(item, name, |value| integer(value).is_some())?;
    }
    optional(item, "rate", |value| value.as_f64().is_some_and(|rate| (0.0..=RATE_MAX).contains(&rate)))
}

fn text(body: &Value, name: &str, bytes_max: usize) -> Checked {
    optional(body, name, |value| value.as_str().is_some_and(|text| text.len() <= bytes_max))
}

fn optional(body: &Value, name: &str, is_good: impl Fn(&Value) -> bool) -> Checked {
    match field(body, name) {
        Some(value) if !is_good(value) => Err(format!("{name}: {value}")),
        _ => Ok(()),
    }
}

fn required(body: &Value, name: &str, is_good: impl Fn(&Value) -> bool) -> Checked {
    match field(body, name) {
        Some(value) if is_good(value) => Ok(()),
        Some(value) => Err(format!("{name}: {value}")),
        None => Err(format!("{name}: is missing")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn beats(change: impl Fn(&mut Value)) -> Value {
        let mut frame = json!({"seq": 2, "beats": {"flag": "2026-11-21", "items": [{
            "kind": 1, "oid": "100", "pos": 73_200, "dur": 300_000, "state": "playing", "session": "8311207",
            "watched": 5_000, "rate": 1.0, "at": 1_795_267_773_851_u64,
        }]}});
        change(&mut frame["beats"]["items"][0]);
        frame
    }

    #[test]
    fn frames_of_the_protocol_are_good() {
        for good in [
            json!({"seq": 1, "hello": {"token": "x", "device": "tv-3f", "client": "heartline-js/1.0"}}),
            json!({"seq": 1, "hello": {}, "beats": null, "extra": 1}),
            beats(|_| {}),
            beats(|beat| beat["dur"] = Value::Null),
            json!({"seq": 3, "get": {"items": [{"kind": 1, "oid": "7"}]}}),
            json!({"seq": 4, "list": {"limit": 20, "finished": false}}),
            json!({"seq": 5, "delete": {"items": [{"kind": 1, "oid": 100}], "at": 1}}),
            json!({"seq": 7, "recording": {"paused": true, "at": 1}}),
            json!({"seq": 8, "token": {"token": "x"}}),
        ] {
            assert_eq!(check(&good), Ok(()), "{good}");
        }
    }

    #[test]
    fn everything_else_is_named() {
        for (bad, wrong) in [
            (json!({"hello": {}}), "seq: must be"),
            (json!({"seq": 1}), "0 operations"),
            (json!({"seq": 1, "get": {"items": []}, "list": {}}), "2 operations"),
            (json!({"seq": 1, "list": []}), "list: must be an object"),
            (beats(|beat| beat["pos"] = json!(5.0)), "beats.items[0].pos: 5.0"),
            (beats(|beat| beat["state"] = json!("stopped")), "beats.items[0].state"),
            (beats(|beat| beat["session"] = Value::Null), "beats.items[0].session: is missing"),
            (beats(|beat| beat["watched"] = json!(-1)), "beats.items[0].watched"),
            (json!({"seq": 1, "clear": {}}), "clear.at: is missing"),
        ] {
            assert!(check(&bad).is_err_and(|found| found.starts_with(wrong)), "{bad}: {:?}", check(&bad));
        }
    }
}
