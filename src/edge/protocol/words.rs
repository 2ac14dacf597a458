//! The words of the wire for reasons of rejection.

use crate::model::rule::Reason;

pub(super) fn reason_word(reason: Reason) -> &'static str {
    match reason {
        Reason::Invalid => "invalid",
        Reason::Clock => "clock",
        Reason::Expired => "expired",
        Reason::NotStarted => "not_started",
        Reason::NotRecording => "not_recording",
        Reason::Superseded => "superseded",
    }
}
