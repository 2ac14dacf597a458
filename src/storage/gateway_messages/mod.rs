//! Messages between gateways without a store and history services, over gRPC.
//!
//! ```text
//! gateway: remote ─ changes, reads ─▶ history service: edge/grpc/gateways ─▶ its intake and its store
//!                           ◀─ answers, what others changed ─
//! ```
//!
//! The schema is in `proto/`. A field that cannot be read makes the whole message [`Malformed`].

pub mod answers;
pub mod changes;
pub mod claims;
pub mod forwarded;
pub mod names;
pub mod pages;
pub mod records;
pub mod revocations;
#[cfg(test)]
mod tests;

use model::ids::Content;
use model::rewards::day::Day;

/// The code made from the schema in `proto/`.
#[allow(clippy::all, missing_docs)]
pub mod wire {
    tonic::include_proto!("heartline.internal.v1");
}

/// A message that no process of this version sends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unreadable message: {0}")]
pub struct Malformed(pub String);

/// 0 = none.
pub fn encode_day(day: Option<Day>) -> u32 {
    day.map_or(0, |day| u32::from(day.number()) + 1)
}

pub fn decode_day(day: u32) -> Result<Option<Day>, Malformed> {
    let number = |above| u16::try_from(above).map_err(|_| Malformed(format!("day {day}")));
    day.checked_sub(1).map(number).transpose().map(|number| number.map(Day::of_number))
}

pub fn encode_content(content: Content) -> wire::Content {
    wire::Content { kind: content.kind.into(), oid: content.oid }
}

pub fn decode_content(content: &wire::Content) -> Result<Content, Malformed> {
    decode_kind(content.kind).map(|kind| Content { kind, oid: content.oid })
}

pub fn decode_contents(contents: &[wire::Content]) -> Result<Vec<Content>, Malformed> {
    contents.iter().map(decode_content).collect()
}

fn decode_kind(kind: u32) -> Result<u16, Malformed> {
    u16::try_from(kind).map_err(|_| Malformed(format!("kind {kind}")))
}

fn required<T>(field: Option<T>, name: &str) -> Result<T, Malformed> {
    field.ok_or_else(|| Malformed(format!("{name} is missing")))
}
