//! Time zones, and when a day of the rewards begins and ends in them.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::day::Day;

/// A time zone of the IANA database that is built in.
#[derive(Clone, Debug)]
pub struct Zone {
    name: Arc<str>,
    zone: TimeZone,
}

/// The database does not know the zone.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("must be a time zone of the IANA database, such as \"UTC\" or \"Europe/Berlin\"; {0:?} is none")]
pub struct NoZone(pub String);

impl Zone {
    /// Finds a zone by its name in any case, and keeps the spelling of the database.
    pub fn named(name: &str) -> Result<Self, NoZone> {
        let zone = TimeZone::get(name).map_err(|_| NoZone(name.to_owned()))?;
        match zone.iana_name() {
            Some(name) if !zone.is_unknown() => Ok(Zone { name: name.into(), zone }),
            _ => Err(NoZone(name.to_owned())),
        }
    }

    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The date at `now`, milliseconds since 1970.
    pub fn day(&self, now: u64) -> Day {
        Day::of(self.date(timestamp(now)))
    }

    /// The first millisecond, from `now` on, whose date is later than `day`; `u64::MAX`: there is none.
    ///
    /// Between two clock changes, the offset tells midnight. A clock change may also lead into another day, from 23:30
    /// to midnight or over a whole date. A change back may repeat the end of a day, so that the day ends twice.
    pub fn end(&self, day: Day, now: u64) -> u64 {
        let Some(next) = day.next() else { return u64::MAX };
        let midnight = next.date().at(0, 0, 0, 0);
        let mut from = timestamp(now);
        let changes = self.zone.following(from).map(|change| change.timestamp());
        for until in changes.chain([Timestamp::MAX]) {
            if self.date(from) >= next.date() {
                return milliseconds(from);
            }
            match self.zone.to_offset(from).to_timestamp(midnight) {
                Ok(begin) if begin < until => return milliseconds(begin),
                _ => from = until,
            }
        }
        u64::MAX
    }

    fn date(&self, at: Timestamp) -> Date {
        self.zone.to_offset(at).to_datetime(at).date()
    }
}

/// A time beyond the range of the database becomes its end.
fn timestamp(ms: u64) -> Timestamp {
    i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or(Timestamp::MAX)
}

/// Clock changes and days begin at whole seconds.
fn milliseconds(at: Timestamp) -> u64 {
    at.as_millisecond().max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> u64 {
        text.parse::<Timestamp>().unwrap().as_millisecond() as u64
    }

    /// The end of the day that has begun at `now`.
    fn end(zone: &str, now: &str) -> String {
        let zone = Zone::named(zone).unwrap();
        timestamp(zone.end(zone.day(at(now)), at(now))).to_string()
    }

    #[test]
    fn a_day_ends_where_its_zone_says() {
        assert_eq!(end("UTC", "2026-11-20T17:00:00Z"), "2026-11-21T00:00:00Z");
        assert_eq!(end("Asia/Kathmandu", "2026-11-20T17:00:00Z"), "2026-11-20T18:15:00Z");
        assert_eq!(Zone::named("Asia/Kathmandu").unwrap().day(at("2026-11-20T18:15:00Z")).to_string(), "2026-11-21");
    }

    #[test]
    fn days_of_23_and_25_hours() {
        assert_eq!(end("Europe/Berlin", "2026-03-28T23:00:00Z"), "2026-03-29T22:00:00Z");
        assert_eq!(end("Europe/Berlin", "2026-10-24T22:00:00Z"), "2026-10-25T23:00:00Z");
    }

    #[test]
    fn a_day_that_begins_at_one_and_one_whose_last_hour_comes_twice() {
        assert_eq!(end("Asia/Beirut", "2026-03-28T12:00:00Z"), "2026-03-28T22:00:00Z");
        assert_eq!(end("Asia/Beirut", "2026-03-28T22:00:00Z"), "2026-03-29T21:00:00Z");
        assert_eq!(end("Asia/Beirut", "2026-10-24T12:00:00Z"), "2026-10-24T22:00:00Z");
    }

    #[test]
    fn clocks_that_leap_into_a_day_or_over_one_or_back_out_of_it() {
        // Clocks went from half past eleven in the evening to midnight.
        assert_eq!(end("Asia/Pyongyang", "2018-05-04T12:00:00Z"), "2018-05-04T15:00:00Z");
        assert_eq!(end("Asia/Pyongyang", "2018-05-04T15:00:00Z"), "2018-05-05T15:00:00Z");
        // There was no 30th of December.
        assert_eq!(end("Pacific/Apia", "2011-12-29T20:00:00Z"), "2011-12-30T10:00:00Z");
        assert_eq!(Zone::named("Pacific/Apia").unwrap().day(at("2011-12-30T10:00:00Z")).to_string(), "2011-12-31");
        // Clocks went back from one minute past midnight to 23:01: the day ends twice.
        assert_eq!(end("America/St_Johns", "2006-10-28T20:00:00Z"), "2006-10-29T02:30:00Z");
        assert_eq!(end("America/St_Johns", "2006-10-29T02:31:00Z"), "2006-10-29T03:30:00Z");
    }

    #[test]
    fn times_beyond_the_range_become_its_end() {
        assert_eq!(Zone::named("UTC").unwrap().end(Day::of_number(u16::MAX), 0), u64::MAX);
        assert_eq!(Zone::named("UTC").unwrap().day(u64::MAX), Day::of_number(u16::MAX));
    }

    #[test]
    fn only_zones_of_the_database_are_accepted() {
        assert_eq!(&**Zone::named("europe/BERLIN").unwrap().name(), "Europe/Berlin");
        for name in ["", "Mars/Olympus", "Etc/Unknown", "+01:00", "EST5EDT4", "../UTC"] {
            assert_eq!(Zone::named(name).unwrap_err(), NoZone(name.to_owned()));
        }
    }
}
