//! Values to messages.

use super::wire;
use crate::auth::User;
use crate::protocol::frame::Telling;
use model::beat::State;
use model::content_name::{ContentTexts, ToldOid};
use model::ids::Content;
use model::record::Record;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::rule::Reason;

pub fn record(record: &Record, Telling { reading, texts }: Telling) -> wire::Record {
    let progress = reading.progress(record);
    let (oid, name) = oid_or_name(record.content, texts);
    wire::Record {
        kind: record.content.kind.into(),
        oid: oid.unwrap_or_default(),
        name,
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
pub fn reward(claim: &ClaimKey, user: &User, texts: &ContentTexts) -> wire::Reward {
    wire::Reward {
        id: claim.id(user.name.as_ref(), texts),
        rule: claim.rule.as_ref().to_owned(),
        day: claim.day.to_string(),
        content: claim.content.map(|content| {
            let (oid, name) = oid_or_name(content, texts);
            wire::Content { kind: Some(content.kind.into()), oid, name }
        }),
    }
}

/// The name instead of the oid, where contents have names.
fn oid_or_name(content: Content, texts: &ContentTexts) -> (Option<u64>, String) {
    match texts.told(content.oid) {
        ToldOid::Number(oid) => (Some(oid), String::new()),
        ToldOid::Name(name) => (None, name.as_str().to_owned()),
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
