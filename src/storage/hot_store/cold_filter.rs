//! The cold filter of a user: the contents that the history store had when rows left the hot store last.

use std::fmt;

use bloomfilter::Bloom;

use model::ids::Content;

/// A Bloom filter of contents. A content that is not in it has no row in the history store that left the hot store.
///
/// It takes 10 bits for each content, and 45 bytes; at least 84 bytes. Of other contents it has one of a hundred.
pub struct ColdFilter(Bloom<u128>);

/// Bytes that are no filter.
#[derive(Debug, thiserror::Error)]
#[error("a malformed cold filter: {0}")]
pub struct MalformedFilter(&'static str);

impl fmt::Debug for ColdFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ColdFilter({} bits)", self.0.len())
    }
}

impl ColdFilter {
    /// With more contents there is no filter, which means that all contents may be cold.
    pub const CONTENTS_MAX: usize = 10_000;
    const FALSE_SHARE: f64 = 0.01;
    /// A filter of fewer would have far more others: its bits are too few for independent hashes.
    const ROOM_MIN: usize = 32;
    /// It is a part of the stored format. Its halves are the keys of two hashes, which must differ.
    const SEED: &[u8; 32] = b"heartline cold filter, version 1";

    /// `None`: there are too many contents.
    pub fn of(contents: impl ExactSizeIterator<Item = Content>) -> Option<Self> {
        let count = contents.len();
        if count > Self::CONTENTS_MAX {
            return None;
        }
        let bloom = Bloom::new_for_fp_rate_with_seed(count.max(Self::ROOM_MIN), Self::FALSE_SHARE, Self::SEED);
        let mut filter = ColdFilter(bloom.expect("a size and a share above 0"));
        contents.for_each(|content| filter.0.set(&item(content)));
        Some(filter)
    }

    pub fn has(&self, content: Content) -> bool {
        self.0.check(&item(content))
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.to_bytes()
    }

    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, MalformedFilter> {
        Bloom::from_bytes(bytes).map(ColdFilter).map_err(MalformedFilter)
    }
}

/// A number, since the hash of a number is the same in each build.
fn item(Content { kind, oid }: Content) -> u128 {
    (u128::from(kind) << 64) | u128::from(oid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(oid: u64) -> Content {
        Content { kind: 1, oid }
    }

    /// The filter of the contents 1:1 and 2:18446744073709551615.
    const STORED: &str = "0127000000000000000700000068656172746c696e6520636f6c642066696c7465722c2076657273696f6e\
                          2031000000020040000100000200000010000020040002000100000200400000001000002000000000";

    #[test]
    fn a_filter_has_its_contents_and_few_others_in_ten_bits_each() {
        for count in [1, 32, 200, 10_000] {
            let filter = ColdFilter::of((0..count).map(|oid| content(oid as u64))).expect("not too many");
            let bytes = filter.to_bytes();
            assert!(bytes.len() <= count.max(32) * 10 / 8 + 46, "{} bytes for {count}", bytes.len());
            let filter = ColdFilter::from_bytes(bytes).expect("its own bytes");
            assert!((0..count).all(|oid| filter.has(content(oid as u64))));
            let others = (0..10_000).filter(|oid| filter.has(content(1_000_000 + oid))).count();
            assert!(others < 200, "{others} of 10,000 others in a filter of {count}");
        }
    }

    #[test]
    fn the_stored_bytes_of_a_filter_stay_the_same() {
        let filter = ColdFilter::of([content(1), Content { kind: 2, oid: u64::MAX }].into_iter()).expect("two");
        let bytes = filter.to_bytes();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, STORED, "a filter that is stored must be read by the next version");
    }

    #[test]
    fn too_many_contents_have_no_filter_and_other_bytes_are_refused() {
        assert!(ColdFilter::of((0..ColdFilter::CONTENTS_MAX + 1).map(|oid| content(oid as u64))).is_none());
        assert!(ColdFilter::of([].into_iter()).is_some_and(|filter| !filter.has(content(1))));
        assert!(ColdFilter::from_bytes(b"x".to_vec()).is_err());
    }
}
