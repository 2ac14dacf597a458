//! Numbers: integers with bounds, ids, the rate.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// Greatest integer that every JSON reader holds exactly. Bounding times by it also keeps their arithmetic from
/// overflowing.
pub(super) const EXACT_MAX: u64 = (1 << 53) - 1;

/// An integer from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Integer<const MIN: u64, const MAX: u64>(pub u64);

/// A time or a length, milliseconds.
pub(super) type Millis = Integer<0, EXACT_MAX>;

/// A business line.
pub(super) type Kind = Integer<0, { u16::MAX as u64 }>;

/// The number of a frame.
pub(super) type Seq = Integer<1, { u32::MAX as u64 }>;

/// An `oid`, a `session`, a `mid`: a string of digits, or an integer as far as those are exact.
#[derive(Clone, Copy, Debug)]
pub(super) struct Id(pub u64);

/// A playback speed. Its bounds are not checked here: a beat beyond them decodes, and is rejected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate(pub f64);

impl Default for Rate {
    fn default() -> Self {
        Rate(1.0)
    }
}

impl<const MIN: u64, const MAX: u64> Integer<MIN, MAX> {
    /// Reads a part of a URL.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if !is_digits(digits) {
            return Err("must be an integer".to_owned());
        }
        if digits.len() < text.len() {
            return Err(Self::too_small());
        }
        // Digits that do not fit are more than any MAX but u64's own.
        Self::bounded(text.parse().map_err(|_| Self::too_great())?)
    }

    fn bounded(number: u64) -> Result<Self, String> {
        match number {
            _ if number < MIN => Err(Self::too_small()),
            _ if number > MAX => Err(Self::too_great()),
            _ => Ok(Integer(number)),
        }
    }

    fn too_small() -> String {
        if MIN == 0 { "must not be negative".to_owned() } else { format!("must be at least {MIN}") }
    }

    fn too_great() -> String {
        format!("must be at most {MAX}")
    }
}

// Their bounds are those of the narrower types.
impl Kind {
    pub fn get(self) -> u16 {
        self.0 as u16
    }
}

impl Seq {
    pub fn get(self) -> u32 {
        self.0 as u32
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Integer<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(IntegerVisitor)
    }
}

struct IntegerVisitor<const MIN: u64, const MAX: u64>;

impl<const MIN: u64, const MAX: u64> Visitor<'_> for IntegerVisitor<MIN, MAX> {
    type Value = Integer<MIN, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Integer::bounded(number).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        let number = u64::try_from(number).map_err(|_| E::custom(Self::Value::too_small()))?;
        self.visit_u64(number)
    }

    /// Also what serde_json makes of integers beyond 64 bits.
    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        if number.fract() != 0.0 {
            return Err(E::invalid_type(Unexpected::Float(number), &self));
        }
        Err(E::custom(match number {
            _ if number < 0.0 => Self::Value::too_small(),
            _ if number > EXACT_MAX as f64 => Self::Value::too_great(),
            _ => "must be written as an integer".to_owned(),
        }))
    }
}

impl Id {
    const EXPECTED: &str = "a decimal number of 64 bits";

    pub fn from_text(text: &str) -> Option<Self> {
        // The parser alone would take a sign.
        is_digits(text).then(|| text.parse().ok().map(Id))?
    }

    pub fn complaint() -> String {
        format!("must be {}", Self::EXPECTED)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

struct IdVisitor;

impl Visitor<'_> for IdVisitor {
    type Value = Id;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Id::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Id, E> {
        Id::from_text(text).ok_or_else(|| E::custom(Id::complaint()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Id, E> {
        if number > EXACT_MAX {
            return Err(E::custom(format_args!("must be a string when it is above {EXACT_MAX}")));
        }
        Ok(Id(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Id, E> {
        u64::try_from(number).map_err(|_| E::custom("must not be negative")).and_then(|number| self.visit_u64(number))
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_f64(RateVisitor)
    }
}

struct RateVisitor;

impl Visitor<'_> for RateVisitor {
    type Value = Rate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Rate, E> {
        Ok(Rate(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Rate, E> {
        Ok(Rate(number as f64))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Rate, E> {
        Ok(Rate(number as f64))
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
