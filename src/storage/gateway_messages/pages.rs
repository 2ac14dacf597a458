//! Lists of records and of users.

use super::{Malformed, decode_content, decode_kind, encode_content, records, required, wire};
use model::ids::UserId;
use model::page::{ListFilter, ListRequest, Page, PageRequest, Position, UsersRequest};
use model::walk::{WalkRequest, Walked};

pub fn encode_request(user: UserId, request: &PageRequest) -> wire::ListRequest {
    wire::ListRequest {
        mid: user.0,
        limit: u32::try_from(request.limit).unwrap_or(u32::MAX),
        after: request.after.map(encode_position),
        kinds: request.kinds.iter().copied().map(u32::from).collect(),
        finished: request.finished.as_ref().map(|finished| finished.wanted),
    }
}

pub fn decode_request(sent: &wire::ListRequest) -> Result<ListRequest, Malformed> {
    Ok(ListRequest {
        limit: sent.limit.max(1) as usize,
        after: sent.after.as_ref().map(decode_position).transpose()?,
        filter: ListFilter { kinds: decode_kinds(&sent.kinds)?, finished: sent.finished },
    })
}

/// `rows`: rows that were read for the page.
pub fn encode_page(page: &Page, rows: u64) -> wire::ListResponse {
    wire::ListResponse {
        records: page.records.iter().map(records::encode).collect(),
        next: page.next.map(encode_position),
        rows,
        partial: page.partial,
    }
}

pub fn decode_page(sent: &wire::ListResponse) -> Result<Page, Malformed> {
    Ok(Page {
        records: sent.records.iter().map(records::decode).collect::<Result<_, _>>()?,
        next: sent.next.as_ref().map(decode_position).transpose()?,
        cold: None,
        partial: sent.partial,
    })
}

pub fn encode_users(request: &UsersRequest) -> wire::UsersRequest {
    wire::UsersRequest {
        after: request.after.map(|user| user.0),
        limit: u32::try_from(request.limit).unwrap_or(u32::MAX),
        kinds: request.kinds.iter().copied().map(u32::from).collect(),
    }
}

pub fn decode_users(sent: &wire::UsersRequest) -> Result<UsersRequest, Malformed> {
    let (after, limit) = (sent.after.map(UserId), sent.limit.max(1) as usize);
    Ok(UsersRequest { after, limit, kinds: decode_kinds(&sent.kinds)? })
}

pub fn encode_walk(user: UserId, request: &WalkRequest) -> wire::WalkRequest {
    wire::WalkRequest {
        mid: user.0,
        limit: u32::try_from(request.limit).unwrap_or(u32::MAX),
        after: request.after.map(encode_content),
        kinds: request.kinds.iter().copied().map(u32::from).collect(),
    }
}

pub fn decode_walk(sent: &wire::WalkRequest) -> Result<WalkRequest, Malformed> {
    let after = sent.after.as_ref().map(decode_content).transpose()?;
    Ok(WalkRequest { limit: sent.limit.max(1) as usize, after, kinds: decode_kinds(&sent.kinds)? })
}

pub fn encode_walked(walked: &Walked) -> wire::WalkResponse {
    let records = walked.records.iter().map(records::encode).collect();
    wire::WalkResponse { records, next: walked.next.map(encode_content), partial: walked.partial }
}

pub fn decode_walked(sent: &wire::WalkResponse) -> Result<Walked, Malformed> {
    Ok(Walked {
        records: sent.records.iter().map(records::decode).collect::<Result<_, _>>()?,
        next: sent.next.as_ref().map(decode_content).transpose()?,
        cold: None,
        partial: sent.partial,
    })
}

fn encode_position(position: Position) -> wire::Position {
    wire::Position { at: position.at, content: Some(encode_content(position.content)) }
}

fn decode_position(sent: &wire::Position) -> Result<Position, Malformed> {
    let content = required(sent.content.as_ref(), "the content of a position")?;
    Ok(Position { at: sent.at, content: decode_content(content)? })
}

fn decode_kinds(kinds: &[u32]) -> Result<Vec<u16>, Malformed> {
    kinds.iter().map(|kind| decode_kind(*kind)).collect()
}
