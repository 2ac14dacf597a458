//! The country of a client.

use std::fmt;

/// A country by its code of ISO 3166-1: two capital letters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Country([u8; 2]);

impl Country {
    /// `None`: it has not the form of such a code.
    pub fn of(code: &str) -> Option<Self> {
        let letters: [u8; 2] = code.as_bytes().try_into().ok()?;
        letters.iter().all(u8::is_ascii_uppercase).then_some(Country(letters))
    }

    pub fn as_str(&self) -> &str {
        // Letters of ASCII are always UTF-8.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for Country {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_country_is_two_capital_letters() {
        assert_eq!(Country::of("DE").as_ref().map(Country::as_str), Some("DE"));
        for wrong in ["", "D", "de", "DEU", "D1", "Ä"] {
            assert_eq!(Country::of(wrong), None, "{wrong}");
        }
    }
}
