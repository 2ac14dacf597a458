//! The documents: their ids and fields, and how they are read.
//!
//! ```text
//! views      { _id: "1:100", total: 8124, s: { "0": 1795629312000000 } }
//! view_days  { _id: "1:100:2026-11", days: { "09": 3, "22": 17 }, s: { "0": 1795629312000000 } }
//! ```
//!
//! `s` holds, by unit, the number of the last flight that changed the document.

use std::fmt;

use mongodb::bson::{Bson, Document};

use model::ids::Content;
use model::rewards::day::Day;
use model::sums::{StoredTotal, Unit};
use storage::statistics::StatisticsAway;

pub(super) const VIEWS: &str = "views";
pub(super) const VIEW_DAYS: &str = "view_days";

/// A month of the calendar, as text `2026-11`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Month {
    year: i16,
    month: i8,
}

impl Month {
    pub fn of(day: Day) -> Self {
        let date = day.date();
        Month { year: date.year(), month: date.month() }
    }

    fn next(self) -> Self {
        match self.month {
            12 => Month { year: self.year + 1, month: 1 },
            month => Month { year: self.year, month: month + 1 },
        }
    }

    /// From the month of one day to that of another.
    pub fn between(from: Day, to: Day) -> impl Iterator<Item = Month> {
        let last = Month::of(to);
        std::iter::successors(Some(Month::of(from)), |month| Some(month.next())).take_while(move |month| *month <= last)
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

/// `_id` of a content in `views`.
pub(super) fn views_id(content: Content) -> String {
    content.to_string()
}

/// `_id` of a content's month in `view_days`.
pub(super) fn month_id(content: Content, month: Month) -> String {
    format!("{}:{month}", views_id(content))
}

/// The range of the ids of all months of a content: the first is included, the second is beyond the last. The colon
/// after the `oid` keeps other contents out.
pub(super) fn month_ids(content: Content) -> (String, String) {
    let id = views_id(content);
    (format!("{id}:"), format!("{id};"))
}

/// The name of a day in `days`: the day of the month.
pub(super) fn day_name(day: Day) -> String {
    format!("{:02}", day.date().day())
}

/// The field with the number of a unit's last flight.
pub(super) fn number_path(unit: Unit) -> String {
    format!("s.{}", unit.0)
}

/// A document that Heartline has not written.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("document {id} of the collection {collection} has no usable {field}")]
pub(super) struct Unreadable {
    collection: &'static str,
    id: String,
    field: &'static str,
}

impl Unreadable {
    pub fn new(collection: &'static str, document: &Document, field: &'static str) -> Self {
        Unreadable { collection, id: document.get("_id").map(Bson::to_string).unwrap_or_default(), field }
    }
}

impl From<Unreadable> for StatisticsAway {
    fn from(unreadable: Unreadable) -> Self {
        StatisticsAway(unreadable.to_string())
    }
}

pub(super) fn id(document: &Document, collection: &'static str) -> Result<String, Unreadable> {
    let id = document.get_str("_id").map(str::to_owned);
    id.map_err(|_| Unreadable::new(collection, document, "_id"))
}

/// The number of the last flight of the unit that changed the document; 0 = no flight.
pub(super) fn number(document: &Document, unit: Unit, collection: &'static str) -> Result<u64, Unreadable> {
    let unusable = || Unreadable::new(collection, document, "s");
    let numbers = document.get_document("s").map_err(|_| unusable())?;
    match numbers.get(unit.0.to_string()) {
        None => Ok(0),
        Some(number) => whole(number).and_then(|number| number.try_into().ok()).ok_or_else(unusable),
    }
}

pub(super) fn stored_total(document: &Document, unit: Unit) -> Result<StoredTotal, Unreadable> {
    let total = document.get("total").and_then(whole).ok_or_else(|| Unreadable::new(VIEWS, document, "total"))?;
    Ok(StoredTotal { total, flight: number(document, unit, VIEWS)? })
}

/// The days of a month with views.
pub(super) fn days(document: &Document, month: &str) -> Result<Vec<(Day, u64)>, Unreadable> {
    let unusable = || Unreadable::new(VIEW_DAYS, document, "days");
    let mut days = Vec::new();
    for (name, views) in document.get_document("days").map_err(|_| unusable())? {
        let day = format!("{month}-{name}").parse().map_err(|_| unusable())?;
        let views = whole(views).ok_or_else(unusable)?;
        days.extend(u64::try_from(views).ok().filter(|views| *views > 0).map(|views| (day, views)));
    }
    Ok(days)
}

/// A whole number, even one written in the shell, where all numbers are doubles.
pub(super) fn whole(value: &Bson) -> Option<i64> {
    const EXACT: f64 = (1_i64 << 53) as f64;
    match value {
        Bson::Int64(number) => Some(*number),
        Bson::Int32(number) => Some((*number).into()),
        Bson::Double(number) if number.fract() == 0.0 && number.abs() <= EXACT => Some(*number as i64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;

    fn day(text: &str) -> Day {
        text.parse().expect("a day")
    }

    #[test]
    fn months_follow_each_other_across_years() {
        let months = |from, to| Month::between(day(from), day(to)).map(|month| month.to_string()).collect::<Vec<_>>();
        assert_eq!(months("2026-11-30", "2027-02-01"), ["2026-11", "2026-12", "2027-01", "2027-02"]);
        assert_eq!(months("2026-11-01", "2026-11-30"), ["2026-11"]);
        assert_eq!(months("2026-11-01", "2026-10-31"), [""; 0]);
    }

    #[test]
    fn the_months_of_a_content_are_those_of_no_other() {
        let month = Month::of(day("2026-11-22"));
        let (first, beyond) = month_ids(Content { kind: 1, oid: 10 });
        let is_among = |content| (first.clone()..beyond.clone()).contains(&month_id(content, month));
        assert!(is_among(Content { kind: 1, oid: 10 }));
        for other in [(1, 1), (1, 100), (1, 101), (11, 0), (10, 10), (2, 10)] {
            assert!(!is_among(Content { kind: other.0, oid: other.1 }), "{other:?}");
        }
    }

    #[test]
    fn written_values_are_read_back() {
        let total = doc! { "_id": "1:100", "total": 8124_i64, "s": { "0": 7_i64 } };
        assert_eq!(stored_total(&total, Unit(0)), Ok(StoredTotal { total: 8124, flight: 7 }));
        assert_eq!(stored_total(&total, Unit(1)), Ok(StoredTotal { total: 8124, flight: 0 }));
        let month = doc! { "_id": "1:100:2026-11", "days": { "09": 3_i32, "22": 17.0, "23": 0_i64 }, "s": {} };
        assert_eq!(days(&month, "2026-11"), Ok(vec![(day("2026-11-09"), 3), (day("2026-11-22"), 17)]));
    }

    #[test]
    fn unreadable_documents_are_named() {
        let refused = stored_total(&doc! { "_id": "1:100", "total": 1.5, "s": {} }, Unit(0)).expect_err("half a view");
        assert_eq!(refused.to_string(), "document \"1:100\" of the collection views has no usable total");
        assert!(number(&doc! { "_id": "1:100" }, Unit(0), VIEWS).is_err());
        assert!(number(&doc! { "_id": "1:100", "s": { "0": -1 } }, Unit(0), VIEWS).is_err());
        for days_of in [doc! { "31": 1 }, doc! { "9": 1 }, doc! { "01": "x" }] {
            assert!(days(&doc! { "_id": "1:100:2026-11", "days": days_of.clone() }, "2026-11").is_err(), "{days_of}");
        }
    }
}
