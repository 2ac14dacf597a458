//! Records, in the encoding of the stores.

use prost::Message;

use super::{Malformed, decode_kind, wire};
use crate::stored_content::StoredContent;
use model::ids::Content;
use model::record::Record;

pub fn encode(record: &Record) -> wire::Record {
    let Content { kind, oid } = record.content;
    wire::Record { kind: kind.into(), oid, stored: StoredContent::of(record).encode_to_vec() }
}

pub fn decode(sent: &wire::Record) -> Result<Record, Malformed> {
    let malformed = |error: &dyn ToString| Malformed(format!("record: {}", error.to_string()));
    let stored = StoredContent::decode(&*sent.stored).map_err(|error| malformed(&error))?;
    let content = Content { kind: decode_kind(sent.kind)?, oid: sent.oid };
    let row = stored.row(content).map_err(|error| malformed(&error))?;
    row.record.ok_or_else(|| malformed(&"state 0"))
}

/// Those of contents that were asked for; `None` = there is none.
pub fn encode_found(records: &[Option<Record>]) -> Vec<wire::Record> {
    records.iter().map(|record| record.as_ref().map(encode).unwrap_or_default()).collect()
}

pub fn decode_found(sent: &[wire::Record]) -> Result<Vec<Option<Record>>, Malformed> {
    sent.iter().map(|sent| if sent.stored.is_empty() { Ok(None) } else { decode(sent).map(Some) }).collect()
}
