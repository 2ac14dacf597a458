//! Texts as parts of ids and keys.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};

/// The characters that are encoded: all but letters, digits, `-`, `.`, `_` and `~`.
pub const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
