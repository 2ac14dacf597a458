//! The bodies of HTTP answers.

use serde::Serialize;

use super::encode::text_of;
use super::record::{RecordView, RecordingView, RecordsView, RejectionsView};
use crate::edge::protocol::frame::Rejection;
use crate::model::ids::UserId;
use crate::model::reading::Reading;
use crate::model::record::Record;

#[derive(Serialize)]
struct BeatsAnswer<'a> {
    now: u64,
    today: &'a str,
    rejected: RejectionsView<'a>,
}

#[derive(Serialize)]
struct RecordsAnswer<'a> {
    records: RecordsView<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a str>,
}

#[derive(Serialize)]
struct ExportAnswer<'a> {
    mid: String,
    recording: RecordingView,
    #[serde(flatten)]
    records: RecordsAnswer<'a>,
}

/// To `POST /v1/beats`. `now`: server-clock milliseconds.
pub fn encode_beats_answer(now: u64, today: &str, rejected: &[Rejection], reading: &Reading) -> String {
    text_of(&BeatsAnswer { now, today, rejected: RejectionsView(rejected, reading) })
}

/// To `POST /v1/history/get`: `null` where nothing is known.
pub fn encode_records(records: &[Option<Record>], reading: &Reading) -> String {
    text_of(&RecordsAnswer { records: RecordsView::Asked(records, reading), cursor: None })
}

/// To `GET /v1/history`; `cursor` while there is more.
pub fn encode_page(records: &[Record], cursor: Option<&str>, reading: &Reading) -> String {
    text_of(&RecordsAnswer { records: RecordsView::Listed(records, reading), cursor })
}

/// To `GET /v1/export`; `cursor` while there is more.
pub fn encode_export(
    user: UserId,
    paused: bool,
    records: &[Record],
    cursor: Option<&str>,
    reading: &Reading,
) -> String {
    let records = RecordsAnswer { records: RecordsView::Listed(records, reading), cursor };
    text_of(&ExportAnswer { mid: user.0.to_string(), recording: RecordingView { paused }, records })
}

/// To `GET /v1/history/{kind}/{oid}`.
pub fn encode_record(record: &Record, reading: &Reading) -> String {
    text_of(&RecordView::new(record, reading))
}

/// To `GET` and `PUT /v1/recording`.
pub fn encode_recording(paused: bool) -> String {
    text_of(&RecordingView { paused })
}
