//! Views: what is asked, and how it is answered.

use serde::{Deserialize, Serialize};

use super::body::object;
use super::encode::{is_false, text_of};
use super::fault::Fault;
use super::number::Id;
use crate::protocol::frame::DecodeError;
use model::ids::SessionId;
use model::rewards::day::Day;
use model::view::{ViewDays, Viewed};

/// Days of one answer.
const DAYS_MAX: u16 = 400;
/// Days of an answer to a query without `from`.
const DAYS_DEFAULT: u16 = 30;

/// A misspelt session would count each time.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ViewBodyShape {
    session: Option<Id>,
}

#[derive(Serialize)]
struct ViewedView {
    views: Option<u64>,
    #[serde(skip_serializing_if = "is_false")]
    partial: bool,
    counted: bool,
}

#[derive(Serialize)]
struct TotalsView<'a> {
    views: &'a [Option<u64>],
    #[serde(skip_serializing_if = "is_false")]
    partial: bool,
}

#[derive(Serialize)]
struct DaysView {
    total: u64,
    days: Vec<DayView>,
}

#[derive(Serialize)]
struct DayView {
    day: String,
    views: u64,
}

/// Decodes the body of `POST /v1/views/{kind}/{oid}`. An empty body names no session.
pub fn decode_view_body(body: &[u8]) -> Result<Option<SessionId>, DecodeError> {
    if body.is_empty() {
        return Ok(None);
    }
    let shape: ViewBodyShape = object(body)?;
    Ok(shape.session.map(|session| SessionId(session.0)))
}

/// `GET …/days?from=…&to=…`, both included. `to` is `today` by default, and `from` 29 days before `to`. An empty value is
/// refused: whoever left it empty by mistake would take the default for what was asked.
pub fn decode_view_days(from: Option<&str>, to: Option<&str>, today: Day) -> Result<(Day, Day), DecodeError> {
    let days = || {
        let to = day("to", to)?.unwrap_or(today);
        let before = Day::of_number(to.number().saturating_sub(DAYS_DEFAULT - 1));
        let from = day("from", from)?.unwrap_or(before);
        match to.number().checked_sub(from.number()) {
            None => Err(Fault::invalid("from", format!("must not be after to ({to})"))),
            Some(after) if after >= DAYS_MAX => {
                Err(Fault::invalid("from", format!("must be at most {DAYS_MAX} days with to ({to})")))
            }
            Some(_) => Ok((from, to)),
        }
    };
    days().map_err(|fault: Fault| fault.malformed(None, false))
}

fn day(name: &str, text: Option<&str>) -> Result<Option<Day>, Fault> {
    let day = text.map(str::parse).transpose();
    day.map_err(|no_day: model::rewards::day::NoDay| Fault::invalid(name, no_day.to_string()))
}

/// To `POST /v1/views/{kind}/{oid}`.
pub fn encode_viewed(viewed: Viewed) -> String {
    text_of(&ViewedView { views: viewed.total, partial: viewed.total.is_none(), counted: viewed.counted })
}

/// To `POST /v1/views/get`.
pub fn encode_view_totals(totals: &[Option<u64>]) -> String {
    text_of(&TotalsView { views: totals, partial: totals.contains(&None) })
}

/// To `GET /v1/views/{kind}/{oid}/days`.
pub fn encode_view_days(views: &ViewDays) -> String {
    let day = |(day, views): &(Day, u64)| DayView { day: day.to_string(), views: *views };
    text_of(&DaysView { total: views.total, days: views.days.iter().map(day).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Day {
        text.parse().expect("a day")
    }

    #[test]
    fn view_answers_have_these_encodings() {
        let known = encode_viewed(Viewed { counted: true, total: Some(8124) });
        assert_eq!(known, r#"{"views":8124,"counted":true}"#);
        let unknown = encode_viewed(Viewed { counted: false, total: None });
        assert_eq!(unknown, r#"{"views":null,"partial":true,"counted":false}"#);
        assert_eq!(encode_view_totals(&[Some(8124), Some(0)]), r#"{"views":[8124,0]}"#);
        assert_eq!(encode_view_totals(&[None, Some(1)]), r#"{"views":[null,1],"partial":true}"#);
        let days = ViewDays { total: 8124, days: vec![(of("2026-11-22"), 17)] };
        assert_eq!(encode_view_days(&days), r#"{"total":8124,"days":[{"day":"2026-11-22","views":17}]}"#);
    }

    #[test]
    fn a_session_may_be_left_out() {
        assert_eq!(decode_view_body(b""), Ok(None));
        assert_eq!(decode_view_body(b"{}"), Ok(None));
        assert_eq!(decode_view_body(br#"{"session":null}"#), Ok(None));
        assert_eq!(decode_view_body(br#"{"session":"7"}"#), Ok(Some(SessionId(7))));
        let message = |body: &[u8]| decode_view_body(body).expect_err("junk").message;
        assert_eq!(message(br#"{"session":"-7"}"#), "session: must be a decimal number of 64 bits");
        assert_eq!(message(b"[]"), "body: must be an object");
        assert_eq!(message(br#"{"sesion":"1"}"#), "body: unknown field sesion; did you mean session?");
    }

    #[test]
    fn days_have_both_ends_and_are_at_most_400() {
        let today = of("2026-11-25");
        let asked = |from, to| decode_view_days(from, to, today);
        assert_eq!(asked(Some("2026-11-01"), Some("2026-11-23")), Ok((of("2026-11-01"), of("2026-11-23"))));
        assert_eq!(asked(None, None), Ok((of("2026-10-27"), today)));
        assert_eq!(asked(Some("2026-11-25"), None), Ok((today, today)));
        assert!(asked(Some("2025-10-22"), None).is_ok());
        let message = |from, to| asked(Some(from), Some(to)).expect_err("junk").message;
        assert_eq!(message("2025-10-21", "2026-11-25"), "from: must be at most 400 days with to (2026-11-25)");
        assert_eq!(message("2026-11-26", "2026-11-25"), "from: must not be after to (2026-11-25)");
        assert_eq!(message("2026-11-1", "2026-11-25"), "from: must be a date such as 2026-11-20");
        assert_eq!(message("2026-11-01", "x"), "to: must be a date such as 2026-11-20");
        assert_eq!(message("", "2026-11-25"), "from: must be a date such as 2026-11-20");
        assert_eq!(message("2026-11-01", ""), "to: must be a date such as 2026-11-20");
    }
}
