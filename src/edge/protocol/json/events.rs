//! Requests for the event log, and their answers.

use std::fmt::Write;
use std::time::Duration;

use super::fault::Fault;
use super::number::{EXACT_MAX, Integer};
use super::query::given;
use crate::protocol::frame::DecodeError;
use model::event_page::{EventPage, EventRequest};
use model::event_topic::EventTopic;

/// `GET /v1/events?log=&after=&limit=&wait=`. An empty value is a missing one.
pub fn decode_event_request(
    log: Option<&str>,
    after: Option<&str>,
    limit: Option<&str>,
    wait: Option<&str>,
) -> Result<(EventTopic, EventRequest), DecodeError> {
    let request = || {
        let topic = given(log).map_or(Some(EventTopic::Rewards), EventTopic::of_name);
        let topic = topic.ok_or_else(|| Fault::invalid("log", "must be \"rewards\" or \"positions\""))?;
        let after = whole::<0>("after", after)?.unwrap_or(0);
        let limit = whole::<1>("limit", limit)?.unwrap_or(EventRequest::LIMIT_DEFAULT as u64);
        let wait_ms = whole::<0>("wait", wait)?.unwrap_or(0);
        let request = EventRequest {
            after,
            limit: limit.min(EventRequest::LIMIT_MAX as u64) as usize,
            wait: Duration::from_millis(wait_ms).min(EventRequest::WAIT_MAX),
        };
        Ok((topic, request))
    };
    request().map_err(|fault: Fault| fault.malformed(None, false))
}

/// To `GET /v1/events`. The events are JSON as they come from the log.
pub fn encode_events(page: &EventPage) -> String {
    let mut text = String::from(r#"{"events":["#);
    for (index, (offset, event)) in page.part.events.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a text does not fail.
        let _ = write!(text, r#"{comma}{{"offset":{offset},"event":{event}}}"#);
    }
    // The id is hexadecimal.
    let _ = write!(text, r#"],"next":{},"log":"{}","newest":{}"#, page.next, page.part.log, page.part.newest);
    text.push_str(if page.beyond_end { r#","beyond_end":true}"# } else { "}" });
    text
}

fn whole<const MIN: u64>(name: &str, value: Option<&str>) -> Result<Option<u64>, Fault> {
    let number = given(value).map(Integer::<MIN, EXACT_MAX>::from_text).transpose();
    Ok(number.map_err(|complaint| Fault::invalid(name, complaint))?.map(|number| number.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::event_page::LogPart;

    fn asked(after: &str, limit: &str, wait: &str) -> Result<(u64, usize, u64), String> {
        let request = decode_event_request(None, Some(after), Some(limit), Some(wait));
        request
            .map(|(_, request)| (request.after, request.limit, request.wait.as_millis() as u64))
            .map_err(|malformed| malformed.message)
    }

    #[test]
    fn every_query_field_may_be_left_out() {
        let none = EventRequest { after: 0, limit: 100, wait: Duration::ZERO };
        assert_eq!(decode_event_request(None, None, None, None), Ok((EventTopic::Rewards, none)));
        assert_eq!(asked("", "", ""), Ok((0, 100, 0)));
    }

    #[test]
    fn each_log_has_a_name() {
        let topic = |log| decode_event_request(Some(log), None, None, None).map(|(topic, _)| topic);
        assert_eq!((topic(""), topic("rewards")), (Ok(EventTopic::Rewards), Ok(EventTopic::Rewards)));
        assert_eq!(topic("positions"), Ok(EventTopic::Positions));
        let refused = topic("history").expect_err("there is no such log").message;
        assert_eq!(refused, "log: must be \"rewards\" or \"positions\"");
    }

    #[test]
    fn large_numbers_are_clamped_and_malformed_ones_are_named() {
        assert_eq!(asked("7", "1001", "99999"), Ok((7, 1_000, 30_000)));
        assert_eq!(asked("9007199254740991", "1", "1"), Ok((9_007_199_254_740_991, 1, 1)));
        for (after, limit, wait, message) in [
            ("-1", "", "", "after: must not be negative"),
            ("x", "", "", "after: must be an integer"),
            ("9007199254740992", "", "", "after: must be at most 9007199254740991"),
            ("", "0", "", "limit: must be at least 1"),
            ("", "1.5", "", "limit: must be an integer"),
            ("", "", "+1", "wait: must be an integer"),
        ] {
            assert_eq!(asked(after, limit, wait), Err(message.to_owned()));
        }
    }

    #[test]
    fn a_page_of_events_has_this_encoding() {
        let page = |events: Vec<(u64, String)>, next| {
            let part = LogPart { events, newest: 9, log: "a1".to_owned() };
            encode_events(&EventPage { part, next, beyond_end: next == 0 })
        };
        assert_eq!(page(vec![], 7), r#"{"events":[],"next":7,"log":"a1","newest":9}"#);
        let events = vec![(8, r#"{"id":"a"}"#.to_owned()), (9, r#"{"id":"b"}"#.to_owned())];
        let text = r#"{"events":[{"offset":8,"event":{"id":"a"}},{"offset":9,"event":{"id":"b"}}],"next":9,"log":"a1","newest":9}"#;
        assert_eq!(page(events, 9), text);
        assert_eq!(page(vec![], 0), r#"{"events":[],"next":0,"log":"a1","newest":9,"beyond_end":true}"#);
    }
}
