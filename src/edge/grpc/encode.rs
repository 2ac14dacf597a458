//! Values to messages.

use super::wire;
use crate::auth::User;
use model::beat::State;
use model::reading::Reading;
use model::record::Record;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::rule::Reason;

pub fn record(record: &Record, reading: &Reading) -> wire::Record {
    let progress = reading.progress(record);
    wire::Record {
        kind: record.content.kind.into(),
        oid: record.content.oid,
        pos: record.pos,
        dur: record.dur,
        state: state(record.state).into(),
        session: record.session.0,
        device: record.device.as_ref().to_owned(),
        watched: record.watched,
        at: record.at,
        progress: progress.share,
        finished: progress.finished,
        resume: progress.resume,
    }
}

/// The name of the user; empty = the name is not known, or users are named by numbers.
pub fn sub(user: &User) -> String {
    user.told().sub().unwrap_or_default().to_owned()
}

/// `user`: of the claim.
pub fn reward(claim: &ClaimKey, user: &User) -> wire::Reward {
    wire::Reward {
        id: claim.id(user.name.as_ref()),
        rule: claim.rule.as_ref().to_owned(),
        day: claim.day.to_string(),
        content: claim.content.map(|content| wire::Content { kind: Some(content.kind.into()), oid: Some(content.oid) }),
    }
}

/// Empty = none.
pub fn flag(flag: Option<Day>) -> String {
    flag.map(|day| day.to_string()).unwrap_or_default()
}

pub fn reason(reason: Reason) -> wire::Reason {
    match reason {
        Reason::Invalid => wire::Reason::Invalid,
        Reason::Clock => wire::Reason::Clock,
        Reason::Expired => wire::Reason::Expired,
        Reason::NotStarted => wire::Reason::NotStarted,
        Reason::NotRecording => wire::Reason::NotRecording,
        Reason::Superseded => wire::Reason::Superseded,
    }
}

fn state(state: State) -> wire::State {
    match state {
        State::Playing => wire::State::Playing,
        State::Paused => wire::State::Paused,
        State::Seeked => wire::State::Seeked,
        State::Ended => wire::State::Ended,
    }
}
