//! Answers to changes.

use std::sync::Arc;

use super::{Malformed, claims, decode_contents, encode_content, records, wire};
use model::change::{Action, Change, Outcome};
use model::rewards::reward_notice::RewardNotice;
use model::rule::{Reason, Verdict};
use wire::answer::Outcome as Sent;

/// By the number on the wire, less 1.
const REASONS: [Reason; 6] =
    [Reason::Invalid, Reason::Clock, Reason::Expired, Reason::NotStarted, Reason::NotRecording, Reason::Superseded];

/// The outcome of a change, and what its sender does not know yet of rewards. `None`: it is not known to be committed.
pub type Answer = Option<(Outcome, Option<RewardNotice>)>;

pub fn encode(answer: &Answer) -> wire::Answer {
    let Some((outcome, news)) = answer else { return wire::Answer::default() };
    wire::Answer { outcome: encode_outcome(outcome), news: news.as_ref().map(claims::encode_news) }
}

/// `change`: that of which it is the answer.
pub fn decode(change: &Change, sent: wire::Answer) -> Result<Answer, Malformed> {
    let Some(outcome) = sent.outcome else { return Ok(None) };
    let content = match &change.action {
        Action::Beat { beat, .. } => Some(beat.content),
        _ => None,
    };
    let news = sent.news.map(|news| claims::decode_news(change.user, content, news)).transpose()?;
    Ok(Some((decode_outcome(outcome)?, news)))
}

fn encode_outcome(outcome: &Outcome) -> Option<Sent> {
    let moved = |at: u64, moved: bool, paused: bool| wire::Moved { at, moved, paused, repeated: false };
    Some(match outcome {
        Outcome::Beat { verdict, skipped } => Sent::Beat(encode_verdict(verdict, *skipped)),
        Outcome::Deleted { moved, at } => {
            Sent::Deleted(wire::Forget { contents: moved.iter().copied().map(encode_content).collect(), at: *at })
        }
        Outcome::Cleared { moved: rose, at } => Sent::Cleared(moved(*at, *rose, false)),
        Outcome::Erased { at, resumed, moved } => {
            Sent::Erased(wire::Moved { at: *at, moved: *resumed, paused: false, repeated: !moved })
        }
        Outcome::Recording { changed, paused } => Sent::Recording(moved(0, *changed, *paused)),
        Outcome::Ahead => Sent::Ahead(true),
        Outcome::Unreadable { why } => Sent::Unreadable(why.as_ref().to_owned()),
        // A gateway without a store sends no removals, and a history service reads what is cold by itself.
        Outcome::Pruned { .. } | Outcome::Cold(_) => return None,
    })
}

fn encode_verdict(verdict: &Verdict, skipped: usize) -> wire::Beaten {
    let sent = wire::Beaten { skipped: skipped as u32, ..wire::Beaten::default() };
    match verdict {
        Verdict::Written { steady, kept_dur } => {
            wire::Beaten { written: true, steady: *steady, kept_dur: *kept_dur, ..sent }
        }
        Verdict::Same => sent,
        Verdict::Rejected { reason, record } => {
            let index = REASONS.iter().position(|known| known == reason).unwrap_or_default();
            wire::Beaten { rejected: index as u32 + 1, record: record.as_ref().map(records::encode), ..sent }
        }
    }
}

fn decode_outcome(sent: Sent) -> Result<Outcome, Malformed> {
    Ok(match sent {
        Sent::Beat(beaten) => Outcome::Beat { skipped: beaten.skipped as usize, verdict: decode_verdict(&beaten)? },
        Sent::Deleted(wire::Forget { contents, at }) => Outcome::Deleted { moved: decode_contents(&contents)?, at },
        Sent::Cleared(wire::Moved { at, moved, .. }) => Outcome::Cleared { moved, at },
        Sent::Erased(wire::Moved { at, moved, repeated, .. }) => {
            Outcome::Erased { at, resumed: moved, moved: !repeated }
        }
        Sent::Recording(wire::Moved { moved, paused, .. }) => Outcome::Recording { changed: moved, paused },
        Sent::Ahead(_) => Outcome::Ahead,
        Sent::Unreadable(why) => Outcome::Unreadable { why: Arc::from(why) },
    })
}

fn decode_verdict(sent: &wire::Beaten) -> Result<Verdict, Malformed> {
    let Some(index) = sent.rejected.checked_sub(1) else {
        let written = Verdict::Written { steady: sent.steady, kept_dur: sent.kept_dur };
        return Ok(if sent.written { written } else { Verdict::Same });
    };
    let reason = REASONS.get(index as usize).ok_or_else(|| Malformed(format!("reason {}", sent.rejected)))?;
    let record = sent.record.as_ref().map(records::decode).transpose()?;
    Ok(Verdict::Rejected { reason: *reason, record })
}
