//! Requests for a part of a file, as players make them to seek.

use std::ops::Range;

use http::{HeaderMap, HeaderValue, header};
use http_range_header::{EndPosition, StartPosition, parse_range_header};

#[derive(Debug, PartialEq, Eq)]
pub enum RequestedRange {
    Whole,
    Part(Range<u64>),
    /// A part beyond the end.
    Nothing,
}

/// The range that `Range` and `If-Range` request of a file of `size` bytes, at least 1. Several ranges, other units and
/// malformed ones are answered with the whole file, as RFC 9110 allows.
pub fn wanted(asked: &HeaderMap, tag: &HeaderValue, size: u64) -> RequestedRange {
    if asked.get(header::IF_RANGE).is_some_and(|known| known != tag) {
        return RequestedRange::Whole;
    }
    let Some(Ok(text)) = asked.get(header::RANGE).map(HeaderValue::to_str) else { return RequestedRange::Whole };
    let Ok(parsed) = parse_range_header(text) else { return RequestedRange::Whole };
    let [range] = parsed.ranges.as_slice() else { return RequestedRange::Whole };
    let start = match range.start {
        StartPosition::Index(start) => start,
        StartPosition::FromLast(count) => size.saturating_sub(count),
    };
    let end = match range.end {
        EndPosition::Index(last) if last < start => return RequestedRange::Whole,
        EndPosition::Index(last) => last.saturating_add(1).min(size),
        EndPosition::LastByte => size,
    };
    if start < size { RequestedRange::Part(start..end) } else { RequestedRange::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: HeaderValue = HeaderValue::from_static("\"a\"");

    fn of_ten(range: &'static str, if_range: Option<&'static str>) -> RequestedRange {
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, HeaderValue::from_static(range));
        if let Some(tag) = if_range {
            headers.insert(header::IF_RANGE, HeaderValue::from_static(tag));
        }
        wanted(&headers, &TAG, 10)
    }

    #[test]
    fn a_single_range_is_a_part_of_the_file() {
        let parts = [
            ("bytes=0-0", 0..1),
            ("bytes=2-5", 2..6),
            ("bytes=0-", 0..10),
            ("bytes=9-99", 9..10),
            ("bytes=-3", 7..10),
            ("bytes=-99", 0..10),
        ];
        for (range, part) in parts {
            assert_eq!(of_ten(range, None), RequestedRange::Part(part), "{range}");
        }
    }

    #[test]
    fn a_range_beyond_the_end_is_unsatisfiable() {
        for range in ["bytes=10-", "bytes=10-12", "bytes=18446744073709551615-"] {
            assert_eq!(of_ten(range, None), RequestedRange::Nothing, "{range}");
        }
    }

    #[test]
    fn any_other_range_is_the_whole_file() {
        for range in ["", "bytes", "bytes=", "bytes=a-b", "bytes=5-2", "bytes=0-1,3-4", "items=0-1", "bytes=--1"] {
            assert_eq!(of_ten(range, None), RequestedRange::Whole, "{range}");
        }
        assert_eq!(wanted(&HeaderMap::new(), &TAG, 10), RequestedRange::Whole);
    }

    #[test]
    fn a_range_of_another_version_is_the_whole_file() {
        assert_eq!(of_ten("bytes=0-1", Some("\"a\"")), RequestedRange::Part(0..2));
        for other in ["\"b\"", "W/\"a\"", "Fri, 20 Nov 2026 00:00:00 GMT"] {
            assert_eq!(of_ten("bytes=0-1", Some(other)), RequestedRange::Whole, "{other}");
        }
    }
}
