//! The queries of URLs, with the same rules and errors as in a frame.

use super::fault::Fault;
use super::number::{EXACT_MAX, Id, Integer, Kind, Millis};
use super::text::ConnectionName;
use crate::protocol::cursor::{self, set_of};
use crate::protocol::frame::{DecodeError, FrameLimits};
use crate::protocol::whom::Whom;
use model::content_name::{ContentIds, ContentName};
use model::ids::{ConnectionId, Content};
use model::page::{ListFilter, ListRequest};
use model::walk::WalkRequest;

const LIMIT_DEFAULT: u64 = 20;
/// Records in one page of an export.
const EXPORT_MAX: usize = 1_000;

/// The query of a list, as text. An empty value is a missing one.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListQuery<'q> {
    pub limit: Option<&'q str>,
    pub cursor: Option<&'q str>,
    pub kinds: Option<&'q str>,
    pub finished: Option<&'q str>,
}

/// `GET /v1/history?limit=&cursor=&kinds=1,3&finished=false`.
pub fn decode_list_query(query: ListQuery, limits: &FrameLimits) -> Result<ListRequest, DecodeError> {
    let list = || {
        let limit = given(query.limit).map(Integer::<1, EXACT_MAX>::from_text).transpose();
        let limit = limit.map_err(|complaint| Fault::invalid("limit", complaint))?;
        let kinds = given(query.kinds).map_or(Ok(Vec::new()), kinds_of)?;
        let finished = given(query.finished).map(finished_of).transpose()?;
        list_request(limit.map(|limit| limit.0), ListFilter { kinds, finished }, given(query.cursor), limits)
    };
    list().map_err(|fault| fault.malformed(None, false))
}

/// The same of values.
pub fn decode_list(
    limit: Option<u64>,
    filter: ListFilter,
    cursor: Option<&str>,
    limits: &FrameLimits,
) -> Result<ListRequest, DecodeError> {
    list_request(limit, filter, cursor, limits).map_err(|fault| fault.malformed(None, false))
}

/// The name of a connection, as its welcome says it.
pub fn decode_connection(text: &str) -> Option<ConnectionId> {
    ConnectionName::from_text(text).map(|name| name.0)
}

/// `mid=` or `sub=` of a query.
pub fn decode_whom(mid: Option<&str>, sub: Option<&str>) -> Result<Whom, DecodeError> {
    let whom = || {
        let mid = match (mid, sub) {
            (None, Some(_)) => None,
            (mid, _) => {
                let mid = Id::from_text(mid.unwrap_or_default());
                Some(mid.ok_or_else(|| Fault::invalid("mid", Id::complaint()))?)
            }
        };
        Whom::required(mid, sub)
    };
    whom().map_err(|fault| fault.malformed(None, false))
}

/// A page of a user's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportPage {
    /// All pages together have each record once that is there all the time, wherever it moves meanwhile.
    ByContent(WalkRequest),
    Newest(ListRequest),
}

/// `GET /v1/export?mid=&sub=&limit=&cursor=&order=`; without a limit, as many as one page may have.
pub fn decode_export(
    (mid, sub): (Option<&str>, Option<&str>),
    limit: Option<&str>,
    cursor: Option<&str>,
    order: Option<&str>,
) -> Result<(Whom, ExportPage), DecodeError> {
    let user = decode_whom(mid, sub)?;
    let (limit, cursor) = (given(limit), given(cursor));
    let page = match given(order) {
        None | Some("content") => walk_request(limit, cursor).map(ExportPage::ByContent),
        Some("newest") => newest_request(limit, cursor).map(ExportPage::Newest),
        Some(_) => Err(Fault::invalid("order", "must be content or newest")),
    };
    Ok((user, page.map_err(|fault| fault.malformed(None, false))?))
}

/// As many as are asked for and one page may have.
fn export_limit(limit: Option<&str>) -> Result<usize, Fault> {
    let limit = limit.map(Integer::<1, EXACT_MAX>::from_text).transpose();
    let limit = limit.map_err(|complaint| Fault::invalid("limit", complaint))?;
    Ok(limit.map_or(EXPORT_MAX, |limit| limit.0.min(EXPORT_MAX as u64) as usize))
}

fn newest_request(limit: Option<&str>, cursor: Option<&str>) -> Result<ListRequest, Fault> {
    let limit = export_limit(limit)?;
    let given_by_one = || Fault::invalid("cursor", "must be one given by a page with order=newest");
    let cursor = cursor.map(|text| cursor::decode(text).ok_or_else(given_by_one)).transpose()?;
    let (after, filter) = cursor.map(|cursor| (cursor.position, cursor.filter)).unzip();
    Ok(ListRequest { limit, after, filter: filter.unwrap_or_default() })
}

fn walk_request(limit: Option<&str>, cursor: Option<&str>) -> Result<WalkRequest, Fault> {
    let limit = export_limit(limit)?;
    let given_by_one = |text| match cursor::decode(text) {
        Some(_) => Fault::invalid("cursor", "is of order=newest, which must be given beside it"),
        None => Fault::invalid("cursor", "must be one given by an export"),
    };
    let after = cursor.map(|text| cursor::decode_walk(text).ok_or_else(|| given_by_one(text))).transpose()?;
    Ok(WalkRequest { limit, after: after.map(|(after, _)| after), kinds: Vec::new() })
}

/// `DELETE …?at=&connection=`. An empty value is refused: without `at` everything up to now is deleted, and a client
/// that left the value empty by mistake did not mean that.
pub fn decode_forgetting(
    at: Option<&str>,
    connection: Option<&str>,
) -> Result<(Option<u64>, Option<ConnectionId>), DecodeError> {
    let forgetting = || {
        let at = at.map(Millis::from_text).transpose();
        let at = at.map_err(|complaint| Fault::invalid("at", complaint))?;
        let connection = connection.map(|text| {
            let name = ConnectionName::from_text(text);
            name.ok_or_else(|| Fault::invalid("connection", ConnectionName::complaint()))
        });
        Ok((at.map(|at| at.0), connection.transpose()?.map(|name| name.0)))
    };
    forgetting().map_err(|fault: Fault| fault.malformed(None, false))
}

/// `/v1/history/{kind}/{oid}`, and the name of the content where contents have names.
pub fn decode_content(kind: &str, oid: &str, ids: ContentIds) -> Result<(Content, Option<ContentName>), DecodeError> {
    let content = || {
        let kind = Kind::from_text(kind).map_err(|complaint| Fault::invalid("kind", complaint))?.get();
        match ids {
            ContentIds::Number => {
                let oid = Id::from_text(oid).ok_or_else(|| Fault::invalid("oid", Id::complaint()))?;
                Ok((Content { kind, oid: oid.0 }, None))
            }
            ContentIds::Any => {
                let name = ContentName::new(oid).map_err(|no_name| Fault::invalid("oid", no_name.to_string()))?;
                Ok((Content { kind, oid: name.oid() }, Some(name)))
            }
        }
    };
    content().map_err(|fault: Fault| fault.malformed(None, false))
}

/// The request of a list. A cursor carries the filter of its list, so none need be given beside it.
pub(super) fn list_request(
    limit: Option<u64>,
    ListFilter { kinds, finished }: ListFilter,
    cursor: Option<&str>,
    limits: &FrameLimits,
) -> Result<ListRequest, Fault> {
    if kinds.len() > cursor::KINDS_MAX {
        return Err(Fault::invalid("kinds", format!("must hold at most {}", cursor::KINDS_MAX)));
    }
    let kinds = set_of(&kinds);
    let limit = limit.unwrap_or(LIMIT_DEFAULT).min(limits.list as u64) as usize;
    let Some(cursor) = cursor else {
        return Ok(ListRequest { limit, after: None, filter: ListFilter { kinds, finished } });
    };
    let cursor = cursor::decode(cursor).ok_or_else(|| Fault::invalid("cursor", "must be one given by a list"))?;
    if !kinds.is_empty() && kinds != cursor.filter.kinds {
        return Err(Fault::invalid("kinds", "must be those of the cursor"));
    }
    if finished.is_some() && finished != cursor.filter.finished {
        return Err(Fault::invalid("finished", "must be that of the cursor"));
    }
    Ok(ListRequest { limit, after: Some(cursor.position), filter: cursor.filter })
}

fn kinds_of(text: &str) -> Result<Vec<u16>, Fault> {
    // One more than may be is enough to see that there are too many.
    let kinds = text.split(',').take(cursor::KINDS_MAX + 1).enumerate().map(|(index, kind)| {
        let kind = Kind::from_text(kind).map_err(|complaint| Fault::invalid(&format!("kinds[{index}]"), complaint))?;
        Ok(kind.get())
    });
    kinds.collect()
}

fn finished_of(text: &str) -> Result<bool, Fault> {
    text.parse().map_err(|_| Fault::invalid("finished", "must be true or false"))
}

pub(super) fn given(value: Option<&str>) -> Option<&str> {
    value.filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::decode_tests::LIMITS;
    use super::*;
    use crate::protocol::frame::Cursor;
    use model::page::Position;

    const POSITION: Position = Position { at: 5, content: Content { kind: 1, oid: 100 } };

    fn asked(query: ListQuery) -> Result<ListRequest, String> {
        decode_list_query(query, &LIMITS).map_err(|malformed| malformed.message)
    }

    fn page(limit: &str, kinds: &str, cursor: &str) -> Result<(usize, Option<Position>, Vec<u16>), String> {
        let query = ListQuery { limit: Some(limit), kinds: Some(kinds), cursor: Some(cursor), finished: None };
        asked(query).map(|list| (list.limit, list.after, list.filter.kinds))
    }

    #[test]
    fn a_page_is_asked_for_as_in_a_frame() {
        let default = ListRequest { limit: 20, after: None, filter: ListFilter::default() };
        assert_eq!(asked(ListQuery::default()), Ok(default));
        assert_eq!(page("", "", ""), Ok((20, None, vec![])));
        assert_eq!(page("1000", "3,1,3", ""), Ok((200, None, vec![1, 3])));
        let cursor =
            cursor::encode(&Cursor { position: POSITION, filter: ListFilter { kinds: vec![1, 3], finished: None } });
        assert_eq!(page("7", "", &cursor), Ok((7, Some(POSITION), vec![1, 3])));
        assert_eq!(page("7", "3,1", &cursor), Ok((7, Some(POSITION), vec![1, 3])));

        assert_eq!(page("7", "3", &cursor), Err("kinds: must be those of the cursor".to_owned()));
        assert_eq!(page("", "", "AAAA"), Err("cursor: must be one given by a list".to_owned()));
        assert_eq!(page("0", "", ""), Err("limit: must be at least 1".to_owned()));
        assert_eq!(page("-1", "", ""), Err("limit: must be at least 1".to_owned()));
        for limit in ["x", "1.0", "+1", " 1", "--1", "-"] {
            assert_eq!(page(limit, "", ""), Err("limit: must be an integer".to_owned()), "{limit}");
        }
        let beyond = "9".repeat(30);
        assert_eq!(page(&beyond, "", ""), Err("limit: must be at most 9007199254740991".to_owned()));
        assert_eq!(page("", "1,65536", ""), Err("kinds[1]: must be at most 65535".to_owned()));
        assert_eq!(page("", "1,,2", ""), Err("kinds[1]: must be an integer".to_owned()));
        assert_eq!(page("", &vec!["1"; 33].join(","), ""), Err("kinds: must hold at most 32".to_owned()));
    }

    #[test]
    fn a_list_of_finished_records_is_asked_for_as_in_a_frame() {
        let finished = |text, cursor: &str| {
            let query = ListQuery { finished: Some(text), cursor: Some(cursor), ..ListQuery::default() };
            asked(query).map(|list| list.filter.finished)
        };
        assert_eq!(finished("", ""), Ok(None));
        assert_eq!(finished("true", ""), Ok(Some(true)));
        assert_eq!(finished("false", ""), Ok(Some(false)));
        for bad in ["1", "0", "True", "yes", "null", "true,false", " true"] {
            assert_eq!(finished(bad, ""), Err("finished: must be true or false".to_owned()), "{bad}");
        }
        let cursor = |finished| {
            let filter = ListFilter { kinds: vec![], finished };
            cursor::encode(&Cursor { position: POSITION, filter })
        };
        for known in [None, Some(false), Some(true)] {
            assert_eq!(finished("", &cursor(known)), Ok(known), "the cursor carries it");
            for (text, given) in [("false", false), ("true", true)] {
                let expected = match known == Some(given) {
                    true => Ok(known),
                    false => Err("finished: must be that of the cursor".to_owned()),
                };
                assert_eq!(finished(text, &cursor(known)), expected, "{given} beside {known:?}");
            }
        }
    }

    #[test]
    fn a_forgetting_may_leave_its_moment_out() {
        let connection = Some(ConnectionId(1));
        assert_eq!(decode_forgetting(None, None), Ok((None, None)));
        assert_eq!(decode_forgetting(Some("5"), Some("0000000000000001")), Ok((Some(5), connection)));
        let message = |at, connection| decode_forgetting(Some(at), Some(connection)).unwrap_err().message;
        assert_eq!(message("", "0000000000000001"), "at: must be an integer");
        assert_eq!(message("5", ""), "connection: must be the 16 hex digits of a welcome");
        assert_eq!(message("-5", ""), "at: must not be negative");
        assert_eq!(message("9007199254740992", ""), "at: must be at most 9007199254740991");
        assert_eq!(message("5", "1"), "connection: must be the 16 hex digits of a welcome");
    }

    #[test]
    fn a_content_in_a_path_is_two_numbers() {
        let decoded = |kind, oid| decode_content(kind, oid, ContentIds::Number);
        assert_eq!(decoded("1", "0100"), Ok((Content { kind: 1, oid: 100 }, None)));
        assert_eq!(decoded("65536", "1").unwrap_err().message, "kind: must be at most 65535");
        assert_eq!(decoded("1", "+1").unwrap_err().message, "oid: must be a decimal number of 64 bits");
    }

    #[test]
    fn a_content_in_a_path_may_be_a_number_and_a_name() {
        let decoded = |oid| decode_content("1", oid, ContentIds::Any);
        for text in ["0100", "a b/c", "+1"] {
            let name = ContentName::new(text).expect("a name");
            assert_eq!(decoded(text), Ok((Content { kind: 1, oid: name.oid() }, Some(name))));
        }
        assert_eq!(decoded("").unwrap_err().message, "oid: must be from 1 to 128 bytes long");
    }
}
