//! `heartline history`: the data of one user in the history store, a JSON object a line; or its repair.

use std::collections::BTreeMap;
use std::fmt::Write;

use clap::Args;
use serde::Serialize;

use crate::app::LookError;
use crate::app::history::{look, repair};
use crate::config::Config;
use model::ids::{Content, UserId};
use model::pack::{PackedRecord, PackedRow};
use model::record::Record;
use model::version::Version;
use storage::history_store::HistoryUser;

#[derive(Args, Debug)]
pub struct HistoryArgs {
    /// The user's id.
    #[arg(long, required_unless_present = "all")]
    mid: Option<u64>,
    /// Also ask the hot store of these settings, and add its record (redis) where it differs.
    #[arg(long, conflicts_with = "repair")]
    compare: bool,
    /// Have the gateways copy everything that Redis has of the user to the history store again.
    #[arg(long)]
    repair: bool,
    /// With --repair: of all users. Use it after changes were lost on their way, such as with a deleted Kafka topic.
    #[arg(long, requires = "repair", conflicts_with = "mid")]
    all: bool,
}

#[derive(Serialize)]
struct ForgottenLine {
    watermark: u64,
    switches: Vec<SwitchView>,
}

#[derive(Serialize)]
struct SwitchView {
    at: u64,
    paused: bool,
}

/// Ids are strings, since they exceed the exact numbers of JSON.
#[derive(Serialize)]
struct RecordView {
    kind: u16,
    oid: String,
    pos: u64,
    dur: u64,
    state: &'static str,
    session: String,
    device: String,
    watched: u64,
    at: u64,
    version: u64,
}

#[derive(Serialize)]
struct TombstoneView {
    kind: u16,
    oid: String,
    tombstone: u64,
    version: u64,
}

#[derive(Serialize)]
#[serde(untagged)]
enum RowView {
    Record(RecordView),
    Tombstone(TombstoneView),
}

#[derive(Serialize)]
struct RowLine {
    #[serde(flatten)]
    row: Option<RowView>,
    /// The record of Redis, where it differs; null: no record.
    #[serde(skip_serializing_if = "Option::is_none")]
    redis: Option<Option<RecordView>>,
}

/// The text of what was asked.
pub fn run(config: &Config, args: &HistoryArgs) -> Result<String, LookError> {
    match args.repair {
        true => Ok(repaired(repair(config, args.mid.map(UserId))?)),
        false => report(config, UserId(args.mid.unwrap_or_default()), args.compare),
    }
}

fn repaired(users: u64) -> String {
    match users {
        0 => "Redis has no data: nothing to copy\n".to_owned(),
        1 => "1 user is listed: the gateways copy everything to the history store again\n".to_owned(),
        users => format!("{users} users are listed: the gateways copy everything to the history store again\n"),
    }
}

/// The lines of the user. `compare`: adds the records of Redis that differ.
fn report(config: &Config, user: UserId, compare: bool) -> Result<String, LookError> {
    let (history, hot) = look(config, user, compare)?;
    Ok(written(&history, hot.as_deref()))
}

fn written(history: &HistoryUser, hot: Option<&[Record]>) -> String {
    let mut text = String::new();
    let mut line = |json: serde_json::Result<String>| {
        let _ = writeln!(text, "{}", json.expect("numbers and texts"));
    };
    let asked = history.forgetting.as_ref().filter(|told| told.watermark > 0 || !told.switches.is_empty());
    if let Some(told) = asked {
        let switches = told.switches.iter().map(|switch| SwitchView { at: switch.at, paused: switch.paused }).collect();
        line(serde_json::to_string(&ForgottenLine { watermark: told.watermark, switches }));
    }
    let mut contents: BTreeMap<Content, (Option<&PackedRow>, Option<&Record>)> = BTreeMap::new();
    for row in &history.rows {
        contents.entry(row.content).or_default().0 = Some(row);
    }
    for record in hot.into_iter().flatten() {
        contents.entry(record.content).or_default().1 = Some(record);
    }
    for (row, record) in contents.into_values() {
        let differs = hot.is_some() && !is_same(row.and_then(|row| row.record.as_ref()), record);
        let redis = differs
            .then(|| record.map(|record| RecordView::of(record.content, &PackedRecord::of(record), record.version)));
        line(serde_json::to_string(&RowLine { row: row.map(RowView::of), redis }));
    }
    text
}

/// Whether both have the same record of the content. The version of a row may be that of its tombstone.
fn is_same(kept: Option<&PackedRecord>, hot: Option<&Record>) -> bool {
    kept == hot.map(PackedRecord::of).as_ref()
}

impl RowView {
    fn of(row: &PackedRow) -> Self {
        let PackedRow { content, tombstone, version, .. } = *row;
        let tombstone =
            || TombstoneView { kind: content.kind, oid: content.oid.to_string(), tombstone, version: version.0 };
        let record = row.record.as_ref().map(|record| RowView::Record(RecordView::of(content, record, version)));
        record.unwrap_or_else(|| RowView::Tombstone(tombstone()))
    }
}

impl RecordView {
    fn of(content: Content, record: &PackedRecord, version: Version) -> Self {
        RecordView {
            kind: content.kind,
            oid: content.oid.to_string(),
            pos: record.pos,
            dur: record.dur,
            state: record.state.word(),
            session: record.session.0.to_string(),
            device: record.device.to_string(),
            watched: record.watched,
            at: record.at,
            version: version.0,
        }
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
