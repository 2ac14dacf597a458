//! The opaque text with which a client asks for the next page of a list.
//!
//! Base64url without padding over: a version byte, then big-endian `at` (8 bytes), `kind` (2), `oid` (8), in version 2 a
//! byte that is 1 for a list of finished records and 0 for one of the others, and the kinds asked for (2 each). Version
//! 1 is of lists of both. One cursor has exactly one text: everything else is refused, so that a client cannot come to
//! depend on anything in it. It grants nothing, and so carries no signature: a user sees only their own records,
//! whatever cursor they send.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::frame::Cursor;
use model::ids::Content;
use model::page::{ListFilter, Position};

/// The versions of cursors of lists without and with [`ListFilter::finished`].
const VERSION: u8 = 1;
const VERSION_FINISHED: u8 = 2;
/// The version of cursors of lists by content.
const VERSION_BY_CONTENT: u8 = 3;
const POSITION_BYTES: usize = 18;
/// Greatest moment on the wire: what a JSON number holds exactly.
const AT_MAX: u64 = (1 << 53) - 1;

/// Longest text of a cursor, bytes.
pub const TEXT_BYTES_MAX: usize = 256;
/// Most kinds that one list can ask for.
pub const KINDS_MAX: usize = 32;

/// The kinds may be in any order and repeated: the same set makes the same text. At most [`KINDS_MAX`] of them.
pub fn encode(cursor: &Cursor) -> String {
    let Cursor { position: Position { at, content }, filter: ListFilter { kinds, finished } } = cursor;
    let kinds = set_of(kinds);
    let mut bytes = Vec::with_capacity(1 + POSITION_BYTES + 1 + 2 * kinds.len());
    bytes.push(if finished.is_some() { VERSION_FINISHED } else { VERSION });
    bytes.extend(at.to_be_bytes());
    bytes.extend(content.kind.to_be_bytes());
    bytes.extend(content.oid.to_be_bytes());
    bytes.extend(finished.map(u8::from));
    bytes.extend(kinds.iter().flat_map(|kind| kind.to_be_bytes()));
    URL_SAFE_NO_PAD.encode(bytes)
}

/// `None`: this text was not made by [`encode`]. The kinds come sorted, each once.
pub fn decode(text: &str) -> Option<Cursor> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (version, rest) = bytes.split_first()?;
    let (at, rest) = rest.split_first_chunk()?;
    let (kind, rest) = rest.split_first_chunk()?;
    let (oid, rest) = rest.split_first_chunk()?;
    let (finished, rest) = match *version {
        VERSION => (None, rest),
        VERSION_FINISHED => match rest.split_first()? {
            (0, rest) => (Some(false), rest),
            (1, rest) => (Some(true), rest),
            _ => return None,
        },
        _ => return None,
    };
    let (pairs, odd) = rest.as_chunks();
    let content = Content { kind: u16::from_be_bytes(*kind), oid: u64::from_be_bytes(*oid) };
    let position = Position { at: u64::from_be_bytes(*at), content };
    let kinds: Vec<u16> = pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect();
    let made_here =
        position.at <= AT_MAX && odd.is_empty() && kinds.len() <= KINDS_MAX && kinds.is_sorted_by(|a, b| a < b);
    made_here.then_some(Cursor { position, filter: ListFilter { kinds, finished } })
}

/// That of a list by content: the version byte 3, `kind`, `oid`, and the kinds asked for.
pub fn encode_walk(after: Content, kinds: &[u16]) -> String {
    let kinds = set_of(kinds);
    let mut bytes = vec![VERSION_BY_CONTENT];
    bytes.extend(after.kind.to_be_bytes());
    bytes.extend(after.oid.to_be_bytes());
    bytes.extend(kinds.iter().flat_map(|kind| kind.to_be_bytes()));
    URL_SAFE_NO_PAD.encode(bytes)
}

/// `None`: this text was not made by [`encode_walk`].
pub fn decode_walk(text: &str) -> Option<(Content, Vec<u16>)> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (version, rest) = bytes.split_first()?;
    let (kind, rest) = rest.split_first_chunk()?;
    let (oid, rest) = rest.split_first_chunk()?;
    let (pairs, odd) = rest.as_chunks();
    let kinds: Vec<u16> = pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect();
    let made_here = *version == VERSION_BY_CONTENT
        && odd.is_empty()
        && kinds.len() <= KINDS_MAX
        && kinds.is_sorted_by(|a, b| a < b);
    made_here.then_some((Content { kind: u16::from_be_bytes(*kind), oid: u64::from_be_bytes(*oid) }, kinds))
}

/// Whether both are the same kinds, in any order.
pub fn is_same_set(one: &[u16], other: &[u16]) -> bool {
    set_of(one) == set_of(other)
}

/// Sorted, each once.
pub(super) fn set_of(kinds: &[u16]) -> Vec<u16> {
    let mut set = kinds.to_vec();
    set.sort_unstable();
    set.dedup();
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn position() -> impl Strategy<Value = Position> {
        (0..=AT_MAX, any::<u16>(), any::<u64>())
            .prop_map(|(at, kind, oid)| Position { at, content: Content { kind, oid } })
    }

    #[test]
    fn the_longest_cursor_fits() {
        let content = Content { kind: u16::MAX, oid: u64::MAX };
        let kinds: Vec<u16> = (0..KINDS_MAX as u16).collect();
        let filter = ListFilter { kinds, finished: Some(true) };
        let text = encode(&Cursor { position: Position { at: AT_MAX, content }, filter });
        assert!(text.len() <= TEXT_BYTES_MAX, "{}", text.len());
        assert!(decode(&text).is_some());
    }

    #[test]
    fn a_malformed_cursor_is_refused() {
        let content = Content { kind: 1, oid: 100 };
        let filter = ListFilter { kinds: vec![1, 3], finished: None };
        let cursor = Cursor { position: Position { at: 5, content }, filter };
        let good = encode(&cursor);
        assert_eq!(decode(&good), Some(cursor.clone()));

        let remade = |change: fn(&mut Vec<u8>)| {
            let mut bytes = URL_SAFE_NO_PAD.decode(&good).unwrap();
            change(&mut bytes);
            decode(&URL_SAFE_NO_PAD.encode(bytes))
        };
        assert_eq!(remade(|_| ()), Some(cursor));
        assert_eq!(remade(|bytes| bytes[0] = 3), None, "another version");
        assert_eq!(remade(|bytes| bytes[0] = 2), None, "version 2 without its byte");
        assert_eq!(remade(|bytes| bytes[1] = 0xff), None, "a moment beyond all");
        assert_eq!(remade(|bytes| bytes.push(0)), None, "half a kind");
        assert_eq!(remade(|bytes| bytes.extend([0, 3])), None, "a kind twice");
        assert_eq!(remade(|bytes| bytes.extend([0, 2])), None, "kinds out of order");
        assert_eq!(remade(|bytes| bytes.truncate(18)), None, "cut");
        assert_eq!(remade(|bytes| bytes.extend((4u16..40).flat_map(u16::to_be_bytes))), None, "too many kinds");
        for text in ["", "…", "AQ", "====", &format!("{good}="), &format!(" {good}"), &"A".repeat(5000)] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    #[test]
    fn a_cursor_of_finished_records_has_one_text() {
        let content = Content { kind: 1, oid: 100 };
        let cursor = |finished| {
            let filter = ListFilter { kinds: vec![1], finished };
            Cursor { position: Position { at: 5, content }, filter }
        };
        for (finished, byte) in [(false, 0), (true, 1)] {
            let good = encode(&cursor(Some(finished)));
            let mut bytes = URL_SAFE_NO_PAD.decode(&good).unwrap();
            assert_eq!((bytes[0], bytes[19]), (2, byte));
            bytes[19] = 2;
            assert_eq!(decode(&URL_SAFE_NO_PAD.encode(&bytes)), None, "neither true nor false");
            assert_eq!(decode(&URL_SAFE_NO_PAD.encode(&bytes[..19])), None, "cut");
        }
        // The texts that clients hold are those of gateways that knew no other lists.
        assert_eq!(encode(&cursor(None)), "AQAAAAAAAAAFAAEAAAAAAAAAZAAB");
    }

    #[test]
    fn a_cursor_by_content_is_no_other_one() {
        let content = Content { kind: 2, oid: u64::MAX };
        let text = encode_walk(content, &[3, 1, 3]);
        assert_eq!(decode_walk(&text), Some((content, vec![1, 3])));
        assert_eq!((decode(&text), decode_walk(&encode_walk(content, &[]))), (None, Some((content, vec![]))));
        let newest_first = encode(&Cursor { position: Position { at: 5, content }, filter: ListFilter::default() });
        for other in [newest_first.as_str(), "", "Aw", &format!("{text}="), &"A".repeat(300)] {
            assert_eq!(decode_walk(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn an_encoded_cursor_decodes_to_itself(
            position in position(),
            kinds in prop::collection::vec(any::<u16>(), 0..=KINDS_MAX),
            finished in any::<Option<bool>>(),
        ) {
            let cursor = |kinds| Cursor { position, filter: ListFilter { kinds, finished } };
            let decoded = decode(&encode(&cursor(kinds.clone())));
            prop_assert_eq!(decoded, Some(cursor(set_of(&kinds))));
        }

        #[test]
        fn a_decoded_cursor_encodes_to_the_same_text(text in "[A-Za-z0-9_-]{24,40}") {
            if let Some(cursor) = decode(&text) {
                prop_assert_eq!(encode(&cursor), text);
            }
        }

        #[test]
        fn a_flipped_bit_is_refused_or_is_another_cursor(position in position(), bit in 0usize..19 * 8) {
            let text = encode(&Cursor { position, filter: ListFilter::default() });
            let mut bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let other = decode(&URL_SAFE_NO_PAD.encode(bytes));
            prop_assert_ne!(other, decode(&text));
        }
    }
}
