//! Counters: what is asked, and how it is answered.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::{Deserialize as DeriveDeserialize, Serialize};

use super::body::object;
use super::encode::text_of;
use super::fault::Fault;
use super::number::{EXACT_MAX, Integer};
use super::query::given;
use crate::protocol::frame::DecodeError;
use model::counters::direct::DirectCounter;
use model::counters::{CounterKey, Difference, KeyField, Recount, RecountState};
use model::user_name::UserName;

/// Keys of one request.
const KEYS_MAX: usize = 500;
const TOP_DEFAULT: u64 = 100;
const TOP_MAX: u64 = 1_000;
const ID_BYTES_MAX: usize = 64;
/// Of a part of a key that is no user.
const PART_BYTES_MAX: usize = 128;

/// The body of `POST /v1/counters/{id}`.
#[derive(Debug, PartialEq)]
pub struct AdditionBody {
    pub key: CounterKey,
    pub by: i64,
    /// Names the request.
    pub id: Option<String>,
}

#[derive(DeriveDeserialize)]
#[serde(deny_unknown_fields)]
struct AdditionShape {
    key: Option<Vec<String>>,
    by: Option<By>,
    id: Option<RequestId>,
}

#[derive(DeriveDeserialize)]
#[serde(deny_unknown_fields)]
struct KeysShape {
    keys: Vec<Vec<String>>,
}

/// The body of `POST /v1/counters/{id}/recount`.
#[derive(DeriveDeserialize)]
#[serde(deny_unknown_fields)]
struct RecountShape {
    keys: Option<Vec<Vec<String>>>,
}

#[derive(Serialize)]
struct JobView<'a> {
    job: &'a str,
}

#[derive(Serialize)]
struct RecountView<'a> {
    state: RecountState,
    done: u64,
    of: u64,
    differences: &'a [Difference],
}

/// A whole number but 0, within what is exact.
struct By(i64);

struct RequestId(String);

#[derive(Serialize)]
struct ValueView {
    value: i64,
}

#[derive(Serialize)]
struct ValuesView<'a> {
    values: &'a [i64],
}

#[derive(Serialize)]
struct TopView<'a> {
    top: Vec<RankedView<'a>>,
}

#[derive(Serialize)]
struct RankedView<'a> {
    key: Vec<Cow<'a, str>>,
    value: i64,
}

/// `parts`: the names of the parts that a key of the counter has.
pub fn decode_addition(body: &[u8], parts: &[String]) -> Result<AdditionBody, DecodeError> {
    let shape: AdditionShape = object(body)?;
    let key = key_of(&shape.key.unwrap_or_default(), parts, "key").map_err(answer)?;
    Ok(AdditionBody { key, by: shape.by.map_or(1, |by| by.0), id: shape.id.map(|id| id.0) })
}

/// Decodes the body of `POST /v1/counters/{id}/get`.
pub fn decode_counter_keys(body: &[u8], parts: &[String]) -> Result<Vec<CounterKey>, DecodeError> {
    let shape: KeysShape = object(body)?;
    keys_of(&shape.keys, parts)
}

/// Decodes the body of `POST /v1/counters/{id}/recount`; empty: all keys.
pub fn decode_recount(body: &[u8], parts: &[String]) -> Result<Vec<CounterKey>, DecodeError> {
    let shape: RecountShape = object(body)?;
    keys_of(&shape.keys.unwrap_or_default(), parts)
}

/// The values of `key` in a query, which are the parts of one key.
pub fn decode_counter_key(given: &[String], parts: &[String]) -> Result<CounterKey, DecodeError> {
    key_of(given, parts, "key").map_err(answer)
}

/// `GET …/top?limit=&key=…`: the first parts of the keys, perhaps none, and how many are asked for.
pub fn decode_counter_top(
    limit: Option<&str>,
    prefix: &[String],
    parts: &[String],
) -> Result<(CounterKey, usize), DecodeError> {
    let limit = given(limit).map(Integer::<1, EXACT_MAX>::from_text).transpose();
    let limit = limit.map_err(|complaint| answer(Fault::invalid("limit", complaint)))?;
    let limit = limit.map_or(TOP_DEFAULT, |limit| limit.0).min(TOP_MAX) as usize;
    if prefix.len() > parts.len() {
        return Err(answer(Fault::invalid("key", format!("must have at most {}", count_of(parts)))));
    }
    Ok((key_of_parts(prefix, parts, "key").map_err(answer)?, limit))
}

pub fn encode_counter_value(value: i64) -> String {
    text_of(&ValueView { value })
}

pub fn encode_counter_values(values: &[i64]) -> String {
    text_of(&ValuesView { values })
}

pub fn encode_counter_top(top: &[(CounterKey, i64)]) -> String {
    let top = top.iter().map(|(key, value)| RankedView { key: key.parts().collect(), value: *value });
    text_of(&TopView { top: top.collect() })
}

pub fn encode_job(job: &str) -> String {
    text_of(&JobView { job })
}

pub fn encode_recount(recount: &Recount) -> String {
    let Recount { state, done, of, differences } = recount;
    text_of(&RecountView { state: *state, done: *done, of: *of, differences })
}

fn keys_of(given: &[Vec<String>], parts: &[String]) -> Result<Vec<CounterKey>, DecodeError> {
    if given.len() > KEYS_MAX {
        return Err(answer(Fault::too_many("keys", KEYS_MAX)));
    }
    let keys = given.iter().enumerate().map(|(index, key)| key_of(key, parts, &format!("keys[{index}]")));
    keys.collect::<Result<_, _>>().map_err(answer)
}

fn key_of(given: &[String], parts: &[String], path: &str) -> Result<CounterKey, Fault> {
    if given.len() != parts.len() {
        return Err(Fault::invalid(path, format!("must have {}", count_of(parts))));
    }
    key_of_parts(given, parts, path)
}

/// `parts`: the names of these parts, and perhaps of further ones.
fn key_of_parts(given: &[String], parts: &[String], path: &str) -> Result<CounterKey, Fault> {
    for (index, (part, name)) in given.iter().zip(parts).enumerate() {
        let max = if name == KeyField::Mid.word() { UserName::BYTES_MAX } else { PART_BYTES_MAX };
        if !(1..=max).contains(&part.len()) {
            let complaint = format!("must be 1 to {max} bytes long");
            return Err(Fault::invalid(&format!("{path}[{index}]"), complaint));
        }
    }
    CounterKey::of(given.iter().map(String::as_str)).map_err(|error| Fault::invalid(path, error.to_string()))
}

/// `2 parts (kind, oid)`.
fn count_of(parts: &[String]) -> String {
    match parts {
        [] => "no parts".to_owned(),
        [one] => format!("1 part ({one})"),
        several => format!("{} parts ({})", several.len(), several.join(", ")),
    }
}

fn answer(fault: Fault) -> DecodeError {
    fault.malformed(None, false)
}

impl<'de> Deserialize<'de> for By {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_i64(ByVisitor)
    }
}

struct ByVisitor;

impl ByVisitor {
    fn out_of_range<E: Error>() -> E {
        E::custom(format_args!("must be a whole number but 0, from -{EXACT_MAX} to {EXACT_MAX}"))
    }
}

impl Visitor<'_> for ByVisitor {
    type Value = By;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<By, E> {
        let is_exact = number.unsigned_abs() <= DirectCounter::NUMBER_MAX.unsigned_abs();
        if is_exact && number != 0 { Ok(By(number)) } else { Err(Self::out_of_range()) }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<By, E> {
        self.visit_i64(i64::try_from(number).map_err(|_| Self::out_of_range())?)
    }

    /// Also what serde_json makes of integers beyond 64 bits.
    fn visit_f64<E: Error>(self, number: f64) -> Result<By, E> {
        if number.fract() == 0.0 && number.abs() > EXACT_MAX as f64 {
            return Err(Self::out_of_range());
        }
        Err(E::invalid_type(Unexpected::Float(number), &self))
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = String::deserialize(deserializer)?;
        match (1..=ID_BYTES_MAX).contains(&id.len()) {
            true => Ok(RequestId(id)),
            false => Err(D::Error::custom(format_args!("must be 1 to {ID_BYTES_MAX} bytes long"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::frame::ErrorCode;

    fn parts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn key(parts: &[&str]) -> CounterKey {
        CounterKey::of(parts.iter().copied()).expect("a key")
    }

    #[test]
    fn an_addition_is_of_one_by_default() {
        let of = |body: &str, names: &[&str]| decode_addition(body.as_bytes(), &parts(names));
        let plain = AdditionBody { key: key(&["1", "100"]), by: 1, id: None };
        assert_eq!(of(r#"{"key":["1","100"]}"#, &["kind", "oid"]), Ok(plain));
        let all = AdditionBody { key: key(&["ä b"]), by: -9_007_199_254_740_991, id: Some("x".into()) };
        assert_eq!(of(r#"{"id":"x","by":-9007199254740991,"key":["ä b"]}"#, &["word"]), Ok(all));
        for body in [r#"{"by":5}"#, r#"{"by":5,"key":[],"id":null}"#, r#"{"by":5,"key":null}"#] {
            assert_eq!(of(body, &[]), Ok(AdditionBody { key: key(&[]), by: 5, id: None }));
        }
    }

    #[test]
    fn what_is_wrong_with_an_addition_is_named() {
        let message = |body: &str| decode_addition(body.as_bytes(), &parts(&["kind", "oid"])).expect_err(body).message;
        let long = "x".repeat(129);
        let range = "by: must be a whole number but 0, from -9007199254740991 to 9007199254740991";
        for (body, expected) in [
            ("{}", "key: must have 2 parts (kind, oid)"),
            (r#"{"key":["1"]}"#, "key: must have 2 parts (kind, oid)"),
            (r#"{"key":["1","2","3"]}"#, "key: must have 2 parts (kind, oid)"),
            (r#"{"key":["1",""]}"#, "key[1]: must be 1 to 128 bytes long"),
            (&format!(r#"{{"key":["{long}","1"]}}"#), "key[0]: must be 1 to 128 bytes long"),
            (r#"{"key":["1",2]}"#, "key[1]: must be a string"),
            (r#"{"key":"1"}"#, "key: must be an array"),
            (r#"{"key":["1","2"],"by":0}"#, range),
            (r#"{"key":["1","2"],"by":9007199254740992}"#, range),
            (r#"{"key":["1","2"],"by":-9007199254740992}"#, range),
            (r#"{"key":["1","2"],"by":18446744073709551615}"#, range),
            (r#"{"key":["1","2"],"by":1e300}"#, range),
            (r#"{"key":["1","2"],"by":1.5}"#, "by: must be an integer"),
            (r#"{"key":["1","2"],"by":1.0}"#, "by: must be an integer"),
            (r#"{"key":["1","2"],"by":"1"}"#, "by: must be an integer"),
            (r#"{"key":["1","2"],"id":""}"#, "id: must be 1 to 64 bytes long"),
            (&format!(r#"{{"key":["1","2"],"id":"{}"}}"#, "x".repeat(65)), "id: must be 1 to 64 bytes long"),
            (r#"{"key":["1","2"],"id":5}"#, "id: must be a string"),
            (r#"{"key":["1","2"],"amount":5}"#, "body: unknown field amount; known: key, by, id"),
            ("[]", "body: must be an object"),
        ] {
            assert_eq!(message(body), expected, "{body}");
        }
    }

    #[test]
    fn at_most_500_keys_are_asked_for() {
        let of = |body: &str| decode_counter_keys(body.as_bytes(), &parts(&["oid"]));
        assert_eq!(of(r#"{"keys":[["2"],["1"]]}"#), Ok(vec![key(&["2"]), key(&["1"])]));
        assert_eq!(of(r#"{"keys":[]}"#), Ok(vec![]));
        let many = |count: usize| format!(r#"{{"keys":[{}]}}"#, vec![r#"["1"]"#; count].join(","));
        assert_eq!(of(&many(500)).map(|keys| keys.len()), Ok(500));
        let refused = of(&many(501)).expect_err("too many");
        assert_eq!((refused.code, refused.message.as_str()), (ErrorCode::TooMany, "keys: must hold at most 500"));
        assert_eq!(of(r#"{"keys":[["1"],["1","2"]]}"#).expect_err("parts").message, "keys[1]: must have 1 part (oid)");
        assert_eq!(of("{}").expect_err("no keys").message, "keys: is missing");
    }

    #[test]
    fn a_top_is_of_a_prefix_and_at_most_1000() {
        let of = |limit, prefix: &[&str]| decode_counter_top(limit, &parts(prefix), &parts(&["kind", "oid"]));
        assert_eq!(of(None, &[]), Ok((key(&[]), 100)));
        assert_eq!(of(Some("5000"), &["1"]), Ok((key(&["1"]), 1_000)));
        assert_eq!(of(Some("7"), &["1", "2"]), Ok((key(&["1", "2"]), 7)));
        let message = |limit, prefix: &[&str]| of(limit, prefix).expect_err("junk").message;
        assert_eq!(message(Some("0"), &[]), "limit: must be at least 1");
        assert_eq!(message(None, &["1", "2", "3"]), "key: must have at most 2 parts (kind, oid)");
        assert_eq!(message(None, &[""]), "key[0]: must be 1 to 128 bytes long");
        let none = decode_counter_key(&parts(&["1"]), &[]).expect_err("a part");
        assert_eq!(none.message, "key: must have no parts");
    }

    #[test]
    fn a_recount_is_of_some_keys_or_of_all() {
        let of = |body: &str| decode_recount(body.as_bytes(), &parts(&["oid"]));
        assert_eq!(of("{}"), Ok(vec![]));
        assert_eq!(of(r#"{"keys":[["2"]]}"#), Ok(vec![key(&["2"])]));
        assert_eq!(of(r#"{"keys":[[]]}"#).expect_err("no parts").message, "keys[0]: must have 1 part (oid)");
        assert_eq!(encode_job("1f"), r#"{"job":"1f"}"#);
        let differences = vec![Difference { key: key(&["2"]), was: 7, is: 1 }];
        let recount = Recount { state: RecountState::Done, done: 3, of: 3, differences };
        let golden = r#"{"state":"done","done":3,"of":3,"differences":[{"key":["2"],"was":7,"is":1}]}"#;
        assert_eq!(encode_recount(&recount), golden);
    }

    #[test]
    fn counter_answers_have_these_encodings() {
        assert_eq!(encode_counter_value(-5), r#"{"value":-5}"#);
        assert_eq!(encode_counter_values(&[0, 7]), r#"{"values":[0,7]}"#);
        let top = [(key(&["1", "a b"]), 8), (key(&["2", "3"]), -1)];
        assert_eq!(encode_counter_top(&top), r#"{"top":[{"key":["1","a b"],"value":8},{"key":["2","3"],"value":-1}]}"#);
        assert_eq!(encode_counter_top(&[(key(&[]), 1)]), r#"{"top":[{"key":[],"value":1}]}"#);
    }
}
