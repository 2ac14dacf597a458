//! Records and what else shows up in several answers, as they are written.

use std::fmt::Display;

use serde::{Serialize, Serializer};

use crate::protocol::frame::{Rejection, Telling};
use model::content_name::{ContentTexts, ToldOid};
use model::ids::Content;
use model::record::Record;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::user_name::UserName;

/// A string of what is displayed: ids do not fit into the numbers of JSON.
pub(super) struct Shown<T>(pub T);

impl<T: Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

#[derive(Serialize)]
pub(super) struct RecordView<'a> {
    kind: u16,
    oid: Shown<ToldOid<'a>>,
    pos: u64,
    dur: u64,
    state: &'static str,
    session: Shown<u64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    device: &'a str,
    watched: u64,
    at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<f64>,
    finished: bool,
    resume: u64,
}

impl<'a> RecordView<'a> {
    pub fn new(record: &'a Record, telling: Telling<'a>) -> Self {
        let progress = telling.reading.progress(record);
        RecordView {
            kind: record.content.kind,
            oid: Shown(telling.texts.told(record.content.oid)),
            pos: record.pos,
            dur: record.dur,
            state: record.state.word(),
            session: Shown(record.session.0),
            device: &record.device,
            watched: record.watched,
            at: record.at,
            progress: progress.share,
            finished: progress.finished,
            resume: progress.resume,
        }
    }
}

/// The records of an answer.
pub(super) enum RecordsView<'a> {
    /// As asked for one by one: `null` where nothing is known.
    Asked(&'a [Option<Record>], Telling<'a>),
    Listed(&'a [Record], Telling<'a>),
}

impl Serialize for RecordsView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RecordsView::Asked(records, telling) => {
                let view = |record| RecordView::new(record, *telling);
                serializer.collect_seq(records.iter().map(|record| record.as_ref().map(view)))
            }
            RecordsView::Listed(records, telling) => {
                serializer.collect_seq(records.iter().map(|record| RecordView::new(record, *telling)))
            }
        }
    }
}

#[derive(Serialize)]
struct RejectionView<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u32>,
    index: u32,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<RecordView<'a>>,
}

pub(super) struct RejectionsView<'a>(pub &'a [Rejection], pub Telling<'a>);

impl RejectionsView<'_> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for RejectionsView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|rejection| RejectionView {
            seq: rejection.seq,
            index: rejection.index,
            reason: rejection.reason.word(),
            record: rejection.record.as_ref().map(|record| RecordView::new(record, self.1)),
        }))
    }
}

pub(super) struct ContentsView<'a>(pub &'a [Content], pub &'a ContentTexts);

impl Serialize for ContentsView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct ContentView<'a> {
            kind: u16,
            oid: Shown<ToldOid<'a>>,
        }
        let view = |content: &Content| ContentView { kind: content.kind, oid: Shown(self.1.told(content.oid)) };
        serializer.collect_seq(self.0.iter().map(view))
    }
}

#[derive(Serialize)]
pub(super) struct RewardView<'a> {
    id: String,
    rule: &'a str,
    day: Shown<Day>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oid: Option<Shown<ToldOid<'a>>>,
}

impl<'a> RewardView<'a> {
    pub fn all(claims: &'a [ClaimKey], name: Option<&UserName>, texts: &'a ContentTexts) -> Vec<Self> {
        claims.iter().map(|claim| RewardView::new(claim, name, texts)).collect()
    }

    /// `name`: of the user of the claim, where users have names.
    pub fn new(claim: &'a ClaimKey, name: Option<&UserName>, texts: &'a ContentTexts) -> Self {
        RewardView {
            id: claim.id(name, texts),
            rule: &claim.rule,
            day: Shown(claim.day),
            kind: claim.content.map(|content| content.kind),
            oid: claim.content.map(|content| Shown(texts.told(content.oid))),
        }
    }
}

#[derive(Serialize)]
pub(super) struct RecordingView {
    pub paused: bool,
}
