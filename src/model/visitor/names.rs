//! The names of browsers and operating systems, as numbers.
//!
//! The lists are fixed. A name that a client makes up has no number, so it takes no memory and appears in no answer.

use std::fmt;
use std::num::{NonZeroU8, NonZeroU16};
use std::sync::LazyLock;

static BROWSERS: LazyLock<Names> = LazyLock::new(|| Names::of(include_str!("browsers.txt")));
static SYSTEMS: LazyLock<Names> = LazyLock::new(|| Names::of(include_str!("systems.txt")));

/// A browser, or another program that plays: one of `browsers.txt`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Browser(NonZeroU16);

/// An operating system: one of `systems.txt`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Os(NonZeroU8);

impl Browser {
    /// `None`: the name is not in the list.
    pub fn of(name: &str) -> Option<Self> {
        BROWSERS.number(name).and_then(|number| number.try_into().ok()).map(Browser)
    }

    pub fn as_str(self) -> &'static str {
        BROWSERS.name(self.0.get().into())
    }
}

impl Os {
    /// `None`: the name is not in the list.
    pub fn of(name: &str) -> Option<Self> {
        SYSTEMS.number(name).and_then(|number| u8::try_from(number).ok()?.try_into().ok()).map(Os)
    }

    pub fn as_str(self) -> &'static str {
        SYSTEMS.name(self.0.get().into())
    }
}

impl fmt::Debug for Browser {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl fmt::Debug for Os {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// Names in the order of their bytes, counted from 1.
struct Names(Vec<&'static str>);

impl Names {
    fn of(lines: &'static str) -> Self {
        Names(lines.lines().collect())
    }

    fn number(&self, name: &str) -> Option<u16> {
        let index = self.0.binary_search(&name).ok()?;
        u16::try_from(index + 1).ok()
    }

    fn name(&self, number: usize) -> &'static str {
        self.0[number - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_number() {
        assert!(BROWSERS.0.len() > 300 && SYSTEMS.0.len() > 50);
        for name in &BROWSERS.0 {
            assert_eq!(Browser::of(name).map(Browser::as_str), Some(*name));
        }
        for name in &SYSTEMS.0 {
            assert_eq!(Os::of(name).map(Os::as_str), Some(*name));
        }
    }

    #[test]
    fn an_unknown_name_has_no_number() {
        for name in ["", "Other", "chrome", "MyApp", "user-4711"] {
            assert_eq!((Browser::of(name), Os::of(name)), (None, None), "{name}");
        }
    }
}
