//! Lines of a file as requests, and what becomes of each line.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::record_line::RecordLine;
use super::{PATIENCE, TransferError};
use edge::grpc::client::{CallError, HistoryClient};
use edge::grpc::wire;
use model::backoff::Backoff;

/// Beats of one request. The service takes five times as many; smaller ones are answered sooner.
const BEATS_MAX: usize = 1_000;
/// The most beats of one user in one request, as the service takes them.
const BEATS_OF_USER_MAX: usize = 500;
const RETRY: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));

/// Where a line ends in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePosition {
    pub bytes: u64,
    pub lines: u64,
}

#[derive(Debug)]
struct Line {
    number: u64,
    text: String,
}

/// A user, by the number or by the name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct LineUser {
    mid: Option<u64>,
    sub: Option<String>,
}

/// The beats of one user and device, and the lines that they were.
#[derive(Debug)]
struct Entry {
    user: LineUser,
    device: String,
    beats: Vec<wire::Beat>,
    lines: Vec<Line>,
}

/// Lines up to a position.
#[derive(Debug, Default)]
pub struct Batch {
    entries: Vec<Entry>,
    indexes: HashMap<(LineUser, String), usize>,
    of_users: HashMap<LineUser, usize>,
    outcome: Outcome,
    pub end: FilePosition,
}

/// The outcome of lines.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Lines that are what the service has now, or are older than that.
    pub taken: u64,
    /// Lines that made a record, or changed its state or session.
    pub changed: u64,
    pub refusals: Vec<Refusal>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    pub line: u64,
    pub reason: String,
    pub text: String,
}

impl LineUser {
    fn of(record: &RecordLine) -> Self {
        LineUser { mid: record.mid, sub: record.sub.clone() }
    }
}

impl Batch {
    pub fn is_full(&self) -> bool {
        self.of_users.values().sum::<usize>() + self.outcome.refusals.len() >= BEATS_MAX
    }

    pub fn has_room_for(&self, record: &RecordLine) -> bool {
        self.of_users.get(&LineUser::of(record)).is_none_or(|beats| *beats < BEATS_OF_USER_MAX)
    }

    pub fn add(&mut self, record: &RecordLine, number: u64, text: String) {
        let user = LineUser::of(record);
        *self.of_users.entry(user.clone()).or_default() += 1;
        let next = self.entries.len();
        let index = *self.indexes.entry((user.clone(), record.device.clone())).or_insert(next);
        if index == next {
            let device = record.device.clone();
            self.entries.push(Entry { user, device, beats: Vec::new(), lines: Vec::new() });
        }
        self.entries[index].beats.push(record.beat());
        self.entries[index].lines.push(Line { number, text });
    }

    pub fn refuse(&mut self, line: u64, reason: String, text: String) {
        self.outcome.refusals.push(Refusal { line, reason, text });
    }

    #[cfg(test)]
    pub fn refusals(&self) -> &[Refusal] {
        &self.outcome.refusals
    }

    /// Until the outcome of each line is known.
    pub async fn send(self, client: &HistoryClient) -> Result<(Outcome, FilePosition), TransferError> {
        let Batch { mut entries, mut outcome, end, .. } = self;
        let (mut backoff, until) = (RETRY, Instant::now() + PATIENCE);
        while !entries.is_empty() {
            match client.put(request(&entries)).await {
                Ok(answer) => entries = settle(entries, answer, &mut outcome)?,
                Err(CallError::Invalid(message)) => {
                    take_out(&mut entries, &message, &mut outcome)?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            if !entries.is_empty() {
                if Instant::now() > until {
                    let why = "it does not commit the beats of some users".to_owned();
                    return Err(CallError::Away("the service".to_owned(), why).into());
                }
                tokio::time::sleep(backoff.failed()).await;
            }
        }
        outcome.refusals.sort_unstable_by_key(|refusal| refusal.line);
        Ok((outcome, end))
    }
}

fn request(entries: &[Entry]) -> wire::PutRequest {
    let users = entries.iter().map(|entry| wire::UserBeats {
        mid: entry.user.mid,
        sub: entry.user.sub.clone().unwrap_or_default(),
        device: entry.device.clone(),
        items: entry.beats.clone(),
        ..Default::default()
    });
    wire::PutRequest { users: users.collect() }
}

/// Adds the answers to the outcome, and returns the entries whose outcome is unknown.
fn settle(entries: Vec<Entry>, answer: wire::PutResponse, outcome: &mut Outcome) -> Result<Vec<Entry>, TransferError> {
    if answer.users.len() != entries.len() {
        let what = format!("{} answers to {} entries", answer.users.len(), entries.len());
        return Err(CallError::Strange("the service".to_owned(), what).into());
    }
    let mut left = Vec::new();
    for (mut entry, answer) in entries.into_iter().zip(answer.users) {
        if answer.unavailable {
            left.push(entry);
            continue;
        }
        outcome.taken += entry.lines.len() as u64;
        outcome.changed += answer.changed.len() as u64;
        for rejected in answer.rejected {
            // One that gave way to a newer one is where it should be.
            if rejected.reason() == wire::Reason::Superseded {
                continue;
            }
            if let Some(line) = entry.lines.get_mut(rejected.index as usize) {
                outcome.taken -= 1;
                let text = std::mem::take(&mut line.text);
                let reason = match rejected.message.is_empty() {
                    true => word(rejected.reason()).to_owned(),
                    false => rejected.message,
                };
                outcome.refusals.push(Refusal { line: line.number, reason, text });
            }
        }
    }
    Ok(left)
}

/// By which it is named on sockets.
fn word(reason: wire::Reason) -> &'static str {
    match reason {
        wire::Reason::Unspecified | wire::Reason::Invalid => "invalid",
        wire::Reason::Clock => "clock",
        wire::Reason::Expired => "expired",
        wire::Reason::NotStarted => "not_started",
        wire::Reason::NotRecording => "not_recording",
        wire::Reason::Superseded => "superseded",
    }
}

/// Takes out what the service will not read, by the path at which its complaint begins.
fn take_out(entries: &mut Vec<Entry>, complaint: &str, outcome: &mut Outcome) -> Result<(), TransferError> {
    let unreadable = || CallError::Invalid(complaint.to_owned());
    let (path, what) = complaint.split_once(": ").ok_or_else(unreadable)?;
    let (user, rest) = index_of(path, "users[").ok_or_else(unreadable)?;
    let entry = entries.get_mut(user).ok_or_else(unreadable)?;
    match index_of(rest, ".items[") {
        Some((item, field)) if item < entry.lines.len() => {
            entry.beats.remove(item);
            let Line { number, text } = entry.lines.remove(item);
            let reason = format!("{}: {what}", field.trim_start_matches('.'));
            outcome.refusals.push(Refusal { line: number, reason, text });
        }
        _ => {
            let reason = format!("{}: {what}", rest.trim_start_matches('.'));
            let lines = std::mem::take(&mut entry.lines);
            let refusals =
                lines.into_iter().map(|Line { number, text }| Refusal { line: number, reason: reason.clone(), text });
            outcome.refusals.extend(refusals);
        }
    }
    if entry.lines.is_empty() {
        entries.remove(user);
    }
    Ok(())
}

/// `users[3].items` after `users[`: 3 and what follows the bracket.
fn index_of<'a>(path: &'a str, before: &str) -> Option<(usize, &'a str)> {
    let (index, rest) = path.strip_prefix(before)?.split_once(']')?;
    Some((index.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::content_name::ContentIds;

    const LINE: &[u8] = br#"{"mid":7,"kind":1,"oid":1,"pos":1,"at":2}"#;

    fn batch() -> Batch {
        let mut batch = Batch::default();
        for (number, mid, device) in [(1, 7, "tv"), (2, 8, ""), (3, 7, "tv"), (4, 7, "phone")] {
            let text = format!(r#"{{"mid":{mid},"device":"{device}","kind":1,"oid":{number},"pos":1,"at":2}}"#);
            batch.add(&RecordLine::read(text.as_bytes(), ContentIds::Number).expect("a line"), number, text);
        }
        batch
    }

    fn lines(outcome: &Outcome) -> Vec<(u64, &str)> {
        outcome.refusals.iter().map(|refusal| (refusal.line, refusal.reason.as_str())).collect()
    }

    #[test]
    fn lines_of_one_user_and_device_share_an_entry() {
        let batch = batch();
        let entries: Vec<_> = request(&batch.entries).users.iter().map(|user| (user.mid, user.items.len())).collect();
        assert_eq!(entries, [(Some(7), 2), (Some(8), 1), (Some(7), 1)]);
    }

    #[test]
    fn a_user_has_no_more_beats_in_a_request_than_are_taken() {
        let mut batch = Batch::default();
        let line = RecordLine::read(LINE, ContentIds::Number).expect("a line");
        (0..500).for_each(|number| batch.add(&line, number, String::new()));
        let other = RecordLine { mid: Some(8), ..RecordLine::read(LINE, ContentIds::Number).expect("a line") };
        assert!(!batch.has_room_for(&line) && batch.has_room_for(&other) && !batch.is_full());
    }

    #[test]
    fn what_is_unknown_is_left_and_what_was_refused_is_named_by_its_line() {
        let rejected =
            |index, reason: wire::Reason| wire::PutRejected { index, reason: reason.into(), ..Default::default() };
        let answer = |rejected| wire::UserAnswer { rejected, changed: vec![0], ..Default::default() };
        let users = vec![
            answer(vec![rejected(1, wire::Reason::Expired)]),
            wire::UserAnswer { unavailable: true, ..Default::default() },
            answer(vec![rejected(0, wire::Reason::Superseded)]),
        ];
        let mut outcome = Outcome::default();
        let left =
            settle(batch().entries, wire::PutResponse { users, ..Default::default() }, &mut outcome).expect("settled");
        assert_eq!(left.iter().map(|entry| entry.user.mid).collect::<Vec<_>>(), [Some(8)]);
        assert_eq!((lines(&outcome), outcome.taken, outcome.changed), (vec![(3, "expired")], 2, 2));
        assert!(settle(batch().entries, wire::PutResponse::default(), &mut outcome).is_err());
    }

    #[test]
    fn one_bad_line_is_taken_out_and_a_bad_device_takes_all_its_lines() {
        let (mut entries, mut outcome) = (batch().entries, Outcome::default());
        take_out(&mut entries, "users[0].items[1].at: must be at most 9007199254740991", &mut outcome)
            .expect("taken out");
        take_out(&mut entries, "users[1].device: must be at most 64 bytes long", &mut outcome).expect("taken out");
        let refused = [(3, "at: must be at most 9007199254740991"), (2, "device: must be at most 64 bytes long")];
        assert_eq!(lines(&outcome), refused);
        assert_eq!(entries.len(), 2);
        for strange in ["users[9].device: is long", "items[0].kind: is missing", "no path"] {
            assert!(take_out(&mut entries, strange, &mut outcome).is_err(), "{strange}");
        }
    }
}
