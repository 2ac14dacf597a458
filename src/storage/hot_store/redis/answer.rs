//! What the script answers to each change, as `lua/beat.lua` and `lua/forgetting.lua` write it.

use std::sync::Arc;

use super::bytes::{Malformed, Reader};
use super::row;
use crate::model::beat::Beat;
use crate::model::change::{Action, Change, Decided, Outcome};
use crate::model::ids::Content;
use crate::model::moment::Moment;
use crate::model::record::Record;
use crate::model::rewards::credit::Credit;
use crate::model::rule::{Reason, Verdict};

const KIND: u8 = 0b111;
const WRITTEN: u8 = 0;
const SAME: u8 = 1;
const NOT_RECORDING: u8 = 2;
const SUPERSEDED: u8 = 3;
const DONE: u8 = 4;
const AHEAD: u8 = 5;
const GOES_ON: u8 = 8;
const HAS_ABOVE: u8 = 16;

/// What became of one change.
pub struct Answered {
    pub outcome: Outcome,
    pub decided: Vec<Decided>,
    /// Gateways that follow the user, this one included; 0 when there is nothing to tell them.
    pub followers: u8,
    /// A clear has left rows to be removed, and so many that stay come before them.
    pub sweep: Option<u32>,
}

/// `place`: which change of the group it is.
pub fn read(
    change: &Change,
    place: usize,
    moment: &Moment,
    answer: &[u8],
    followers: u8,
) -> Result<Answered, Malformed> {
    let mut answer = Reader::of("what has become of a change", answer);
    let code = answer.byte()?;
    let mut answered = Answered { outcome: Outcome::Ahead, decided: Vec::new(), followers, sweep: None };
    if code == AHEAD {
        return Ok(answered);
    }
    answered.outcome = match &change.action {
        Action::Beat { beat, device, .. } => {
            Outcome::Beat(verdict(beat, device, place, moment, code, &mut answer, &mut answered.decided)?)
        }
        _ if code != DONE => return Err(answer.malformed()),
        Action::Delete { contents, .. } => {
            let at = answer.number(6)?;
            let mut moved = Vec::new();
            while !answer.is_empty() {
                let number = answer.number(4)? as usize;
                moved.push(*contents.get(number).ok_or(answer.malformed())?);
            }
            Outcome::Deleted { moved, at }
        }
        Action::Clear { .. } => {
            let (at, moved) = (answer.number(6)?, answer.byte()? == 1);
            answered.sweep = sweep(&mut answer)?;
            Outcome::Cleared { moved, at }
        }
        Action::Recording { .. } => {
            let (moved, paused) = (answer.byte()? == 1, answer.byte()? == 1);
            Outcome::Recording { moved, paused }
        }
        Action::Erase => Outcome::Erased { at: answer.number(6)?, resumed: answer.byte()? == 1 },
    };
    Ok(answered)
}

/// What a step of a sweep has left.
pub fn read_sweep(answer: &[u8]) -> Result<Option<u32>, Malformed> {
    let mut answer = Reader::of("what is left to sweep", answer);
    answer.byte()?;
    sweep(&mut answer)
}

fn sweep(answer: &mut Reader<'_>) -> Result<Option<u32>, Malformed> {
    let more = answer.byte()? == 1;
    let kept = answer.number(4)? as u32;
    Ok(more.then_some(kept))
}

fn verdict(
    beat: &Beat,
    device: &Arc<str>,
    change: usize,
    moment: &Moment,
    code: u8,
    answer: &mut Reader<'_>,
    decided: &mut Vec<Decided>,
) -> Result<Verdict, Malformed> {
    match code & KIND {
        WRITTEN => {
            let above = if code & HAS_ABOVE == 0 { 0 } else { answer.number(7)? };
            for byte in answer.short()? {
                decided.push(Decided { change, rule: usize::from(byte / 2), first: byte % 2 == 1 });
            }
            let before = record(beat.content, answer)?;
            let going_on = before.as_ref().filter(|_| code & GOES_ON != 0);
            let credit = Credit::of(beat, going_on.map(|record| record.credit), moment);
            let after = Record::of(beat, device.clone(), 0, credit);
            Ok(Verdict::Written { before, after: Record { version: beat.at * 1000 + above, ..after } })
        }
        SAME => Ok(Verdict::Same),
        NOT_RECORDING => Ok(Verdict::Rejected { reason: Reason::NotRecording, record: None }),
        SUPERSEDED => Ok(Verdict::Rejected { reason: Reason::Superseded, record: record(beat.content, answer)? }),
        _ => Err(answer.malformed()),
    }
}

/// The row that was there before, if it was live.
fn record(content: Content, answer: &mut Reader<'_>) -> Result<Option<Record>, Malformed> {
    match answer.rest() {
        [] => Ok(None),
        row => Ok(row::parse(content, row)?.record),
    }
}
