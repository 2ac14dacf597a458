//! A day of the reward zone.

use std::cell::Cell;
use std::fmt;
use std::io::Write;
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::Date;

/// A date of the calendar, from 1970-01-01 to 2149-06-06.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(u16);

const FIRST: Date = Date::constant(1970, 1, 1);
const LENGTH: SignedDuration = SignedDuration::from_hours(24);

thread_local! {
    /// The last formatted day: every beat and every ack formats a day, and mostly the same one.
    static TOLD: Cell<Option<(Day, Text)>> = const { Cell::new(None) };
}

/// `YYYY-MM-DD`
type Text = [u8; 10];

/// The text is not a date in the range of [`Day`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("must be a date such as 2026-11-20")]
pub struct NoDay;

impl Day {
    /// The day of a date. A date out of range becomes the first or the last day.
    pub fn of(date: Date) -> Self {
        let since = date.duration_since(FIRST).as_secs() / LENGTH.as_secs();
        Day(since.clamp(0, u16::MAX.into()) as u16)
    }

    /// Days since 1970-01-01.
    pub fn number(self) -> u16 {
        self.0
    }

    pub fn of_number(number: u16) -> Self {
        Day(number)
    }

    pub fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Day)
    }

    /// The day before, the day, and the day after: around midnight of two requests the later one may have the earlier
    /// day.
    pub fn around(self) -> [Self; 3] {
        [Day(self.0.saturating_sub(1)), self, Day(self.0.saturating_add(1))]
    }

    pub fn date(self) -> Date {
        FIRST.saturating_add(LENGTH * i32::from(self.0))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = TOLD.get().filter(|(day, _)| day == self).map_or_else(|| text_of(*self), |(_, text)| text);
        f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

fn text_of(day: Day) -> Text {
    let mut text = Text::default();
    // Dates of four-digit years have exactly this length.
    let _ = write!(text.as_mut_slice(), "{}", day.date());
    TOLD.set(Some((day, text)));
    text
}

/// `YYYY-MM-DD` and nothing else.
impl FromStr for Day {
    type Err = NoDay;

    fn from_str(text: &str) -> Result<Self, NoDay> {
        let text: Text = text.as_bytes().try_into().map_err(|_| NoDay)?;
        TOLD.get().filter(|(_, told)| *told == text).map_or_else(|| read(&text), |(day, _)| Ok(day))
    }
}

fn read(text: &Text) -> Result<Day, NoDay> {
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0_i16, |number, digit| {
            digit.is_ascii_digit().then(|| number * 10 + i16::from(digit - b'0')).ok_or(NoDay)
        })
    };
    if text[4] != b'-' || text[7] != b'-' {
        return Err(NoDay);
    }
    let (year, month, day) = (number(&text[..4])?, number(&text[5..7])?, number(&text[8..])?);
    let date = Date::new(year, month as i8, day as i8).map_err(|_| NoDay)?;
    let found = Day::of(date);
    // A date out of range was moved into it, and is another day.
    if found.date() == date { Ok(found) } else { Err(NoDay) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_written_as_it_is_read() {
        for text in ["1970-01-01", "2024-02-29", "2026-11-20", "2149-06-06"] {
            let day = text.parse::<Day>().unwrap();
            assert_eq!((day.to_string(), day.to_string()), (text.to_owned(), text.to_owned()));
            assert_eq!(text.parse(), Ok(day));
        }
        assert_eq!("1970-01-02".parse::<Day>().unwrap().number(), 1);
    }

    #[test]
    fn other_texts_are_refused() {
        let wrong =
            ["", "2026-11-2", "2026-11-201", "2026-13-01", "2026-02-30", "+026-11-20", "2026/11/20", "20261120xx"];
        for text in wrong.into_iter().chain(["1969-12-31", "2149-06-07", "２026-11"]) {
            assert_eq!(text.parse::<Day>(), Err(NoDay), "{text}");
        }
    }
}
