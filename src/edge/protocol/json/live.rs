//! Requests for the live numbers, and their answers.

use serde::Serialize;

use super::encode::text_of;
use super::fault::Fault;
use super::number::{EXACT_MAX, Integer};
use super::query::given;
use super::record::Shown;
use super::shares::{SharesView, shares};
use crate::protocol::frame::DecodeError;
use domain::live::board::LiveView;
use model::content_name::{ContentTexts, ToldOid};
use model::live::{Counts, Ranked, Ranking, Visit};
use model::visitor::{Browser, Country, DeviceClass, Os};

const TOP_DEFAULT: u64 = 20;
const TOP_MAX: u64 = 100;
const TAIL_DEFAULT: u64 = 100;
const TAIL_MAX: u64 = 1_000;

/// By what contents are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankedBy {
    Now,
    Rising,
}

#[derive(Serialize)]
struct NumbersView {
    at: u64,
    users: u64,
    sessions: u64,
    kinds: Vec<KindView>,
}

#[derive(Serialize)]
struct KindView {
    kind: u16,
    sessions: u32,
}

#[derive(Serialize)]
struct CountsView {
    sessions: u32,
    users: u32,
}

#[derive(Serialize)]
struct TopView<'a> {
    top: Vec<RankedView<'a>>,
    error: u32,
}

#[derive(Serialize)]
struct RankedView<'a> {
    kind: u16,
    oid: Shown<ToldOid<'a>>,
    sessions: u32,
}

#[derive(Serialize)]
struct SeriesView<'a> {
    seconds: &'a [u32],
    minutes: &'a [u32],
}

#[derive(Serialize)]
struct TailView<'a> {
    tail: Vec<VisitView<'a>>,
}

/// A visit. Unknown classes of its client are left out.
#[derive(Serialize)]
struct VisitView<'a> {
    at: u64,
    kind: u16,
    oid: Shown<ToldOid<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    country: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    os: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    browser: Option<&'static str>,
}

/// Each member but the first ones is as its own path answers it.
#[derive(Serialize)]
struct EventView<'a> {
    #[serde(flatten)]
    numbers: NumbersView,
    top: TopView<'a>,
    rising: TopView<'a>,
    shares: SharesView<'a>,
    series: SeriesView<'a>,
    #[serde(flatten)]
    tail: TailView<'a>,
}

/// `GET /v1/live/top?limit=&by=`. An empty value is a missing one.
pub fn decode_top(limit: Option<&str>, by: Option<&str>) -> Result<(usize, RankedBy), DecodeError> {
    let limit = limit_of(limit, TOP_DEFAULT, TOP_MAX)?;
    let by = match given(by) {
        None | Some("now") => RankedBy::Now,
        Some("rising") => RankedBy::Rising,
        Some(_) => return Err(Fault::invalid("by", "must be now or rising").malformed(None, false)),
    };
    Ok((limit, by))
}

/// `GET /v1/live/tail?limit=`. An empty value is a missing one.
pub fn decode_tail(limit: Option<&str>) -> Result<usize, DecodeError> {
    limit_of(limit, TAIL_DEFAULT, TAIL_MAX)
}

fn limit_of(limit: Option<&str>, default: u64, most: u64) -> Result<usize, DecodeError> {
    let limit = given(limit).map(Integer::<1, EXACT_MAX>::from_text).transpose();
    let limit = limit.map_err(|complaint| Fault::invalid("limit", complaint).malformed(None, false))?;
    Ok(limit.map_or(default, |limit| limit.0).min(most) as usize)
}

/// To `GET /v1/live`.
pub fn encode_live(view: &LiveView) -> String {
    text_of(&numbers(view))
}

/// To `GET /v1/live/{kind}/{oid}`.
pub fn encode_live_counts(counts: Counts) -> String {
    text_of(&CountsView { sessions: counts.sessions, users: counts.users })
}

/// To `GET /v1/live/top`.
pub fn encode_top(view: &LiveView, limit: usize, by: RankedBy, texts: &ContentTexts) -> String {
    text_of(&top(view, limit, by, texts))
}

/// To `GET /v1/live/series`.
pub fn encode_series(view: &LiveView) -> String {
    text_of(&series(view))
}

/// To `GET /v1/live/tail`.
pub fn encode_tail(view: &LiveView, limit: usize, texts: &ContentTexts) -> String {
    text_of(&tail(view, limit, texts))
}

/// The data of a `live` event.
pub fn encode_live_event(view: &LiveView, texts: &ContentTexts) -> String {
    let first = TOP_DEFAULT as usize;
    text_of(&EventView {
        numbers: numbers(view),
        top: top(view, first, RankedBy::Now, texts),
        rising: top(view, first, RankedBy::Rising, texts),
        shares: shares(&view.shares),
        series: series(view),
        tail: tail(view, first, texts),
    })
}

fn numbers(view: &LiveView) -> NumbersView {
    let kinds = view.kinds.iter().map(|(kind, sessions)| KindView { kind: *kind, sessions: *sessions });
    NumbersView { at: view.at, users: view.users, sessions: view.sessions, kinds: kinds.collect() }
}

fn top<'a>(view: &LiveView, limit: usize, by: RankedBy, texts: &'a ContentTexts) -> TopView<'a> {
    let Ranking { ranked, error } = match by {
        RankedBy::Now => &view.top,
        RankedBy::Rising => &view.rising,
    };
    let mut ranked: Vec<&Ranked> = ranked.iter().collect();
    if by == RankedBy::Now {
        ranked.sort_by(|one, other| {
            other.sessions.cmp(&one.sessions).then_with(|| texts.order(one.content, other.content))
        });
    }
    let view = |Ranked { content, sessions }: &Ranked| RankedView {
        kind: content.kind,
        oid: Shown(texts.told(content.oid)),
        sessions: *sessions,
    };
    TopView { top: ranked.into_iter().take(limit).map(view).collect(), error: *error }
}

fn series(view: &LiveView) -> SeriesView<'_> {
    SeriesView { seconds: &view.seconds, minutes: &view.minutes }
}

fn tail<'a>(view: &'a LiveView, limit: usize, texts: &'a ContentTexts) -> TailView<'a> {
    let visits = view.visits.iter().take(limit).map(|Visit { at, content, visitor }| VisitView {
        at: *at,
        kind: content.kind,
        oid: Shown(texts.told(content.oid)),
        device: visitor.device.map(DeviceClass::as_str),
        country: visitor.country.as_ref().map(Country::as_str),
        os: visitor.os.map(Os::as_str),
        browser: visitor.browser.map(Browser::as_str),
    });
    TailView { tail: visits.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::Content;
    use model::live::{MINUTES, SECONDS, Shares};
    use model::visitor::Visitor;

    fn view() -> LiveView {
        let content = Content { kind: 1, oid: u64::MAX };
        let ranked =
            vec![Ranked { content, sessions: 3 }, Ranked { content: Content { kind: 2, oid: 7 }, sessions: 1 }];
        LiveView {
            at: 1_000,
            users: 2,
            sessions: 4,
            kinds: vec![(1, 3), (2, 1)],
            top: Ranking { ranked, error: 1 },
            rising: Ranking { ranked: Vec::new(), error: 0 },
            widget_users: 0,
            widget_top: Vec::new(),
            shares: Shares::default(),
            seconds: [4; SECONDS],
            minutes: [0; MINUTES],
            visits: vec![Visit { at: 999, content, visitor: Visitor::default() }; 3],
        }
    }

    #[test]
    fn live_answers_have_these_encodings() {
        let view = view();
        let numbers = r#""at":1000,"users":2,"sessions":4,"kinds":[{"kind":1,"sessions":3},{"kind":2,"sessions":1}]"#;
        assert_eq!(encode_live(&view), format!("{{{numbers}}}"));
        assert_eq!(encode_live_counts(Counts { sessions: 3, users: 2 }), r#"{"sessions":3,"users":2}"#);
        let first = r#"{"kind":1,"oid":"18446744073709551615","sessions":3}"#;
        assert_eq!(
            encode_top(&view, 1, RankedBy::Now, ContentTexts::NONE),
            format!(r#"{{"top":[{first}],"error":1}}"#)
        );
        assert_eq!(encode_top(&view, 1, RankedBy::Rising, ContentTexts::NONE), r#"{"top":[],"error":0}"#);
        let visit = r#"{"at":999,"kind":1,"oid":"18446744073709551615"}"#;
        assert_eq!(encode_tail(&view, 2, ContentTexts::NONE), format!(r#"{{"tail":[{visit},{visit}]}}"#));
        let event = encode_live_event(&view, ContentTexts::NONE);
        assert!(event.starts_with(&format!(r#"{{{numbers},"top":{{"top":[{first},"#)), "{event}");
        let series: serde_json::Value = serde_json::from_str(&encode_series(&view)).expect("JSON");
        let event: serde_json::Value = serde_json::from_str(&event).expect("JSON");
        assert_eq!(event["series"], series);
        assert_eq!(event["shares"], serde_json::json!({"countries": {}, "os": {}, "browsers": {}, "devices": {}}));
        assert_eq!(series["seconds"].as_array().map(Vec::len), Some(60));
        assert_eq!(series["minutes"].as_array().map(Vec::len), Some(60));
    }

    #[test]
    fn a_visit_has_the_known_classes_of_its_client() {
        let (os, country) = (Os::of("Android"), Country::of("DE"));
        let known = Visitor { device: Some(DeviceClass::Tv), os, browser: Browser::of("Chrome"), country };
        let content = Content { kind: 1, oid: 100 };
        let visit = |visitor| Visit { at: 999, content, visitor };
        let unknown_os = Visitor { os: None, browser: None, ..known };
        let view = LiveView { visits: vec![visit(known), visit(unknown_os)], ..view() };
        let content = r#"{"at":999,"kind":1,"oid":"100","device":"tv","country":"DE""#;
        let all = format!(r#"{{"tail":[{content},"os":"Android","browser":"Chrome"}},{content}}}]}}"#);
        assert_eq!(encode_tail(&view, 2, ContentTexts::NONE), all);
    }

    #[test]
    fn queries_are_clamped_and_junk_is_refused() {
        assert_eq!(decode_top(None, None), Ok((20, RankedBy::Now)));
        assert_eq!(decode_top(Some("1000"), Some("rising")), Ok((100, RankedBy::Rising)));
        assert_eq!(decode_top(Some(""), Some("")), Ok((20, RankedBy::Now)));
        assert_eq!((decode_tail(None), decode_tail(Some("5000"))), (Ok(100), Ok(1_000)));
        let message = |limit, by| decode_top(Some(limit), Some(by)).expect_err("junk").message;
        assert_eq!(message("0", ""), "limit: must be at least 1");
        assert_eq!(message("x", ""), "limit: must be an integer");
        assert_eq!(message("", "Now"), "by: must be now or rising");
    }
}
