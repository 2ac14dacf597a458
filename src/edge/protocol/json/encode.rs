//! The text of a server frame.

use serde::Serialize;

use super::record::{ContentsView, RecordView, RecordingView, RecordsView, RejectionsView, RewardView, Shown};
use crate::protocol::frame::{Ack, Answer, ErrorCode, ServerFrame, Telling, Welcome, WelcomeLimits};
use model::ids::ConnectionId;
use model::push::Push;
use model::rewards::day::Day;

/// The frame, as one text.
pub fn encode(frame: &ServerFrame, telling: Telling) -> String {
    text_of(&FrameView::new(frame, telling))
}

/// Appends the frame to a buffer that is used again.
pub fn encode_into(frame: &ServerFrame, telling: Telling, buffer: &mut Vec<u8>) {
    serde_json::to_writer(buffer, &FrameView::new(frame, telling)).expect(NEVER_FAILS);
}

/// The only failures are those of a writer and of maps whose keys are no strings; there is neither.
const NEVER_FAILS: &str = "views have string keys and are written to memory";

pub(super) fn text_of(view: &impl Serialize) -> String {
    serde_json::to_string(view).expect(NEVER_FAILS)
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum FrameView<'a> {
    Welcome(WelcomeView<'a>),
    Ack(AckView<'a>),
    Result(ResultView<'a>),
    Error(ErrorView<'a>),
    Push(PushView<'a>),
    Reward(RewardView<'a>),
    Bye(ByeView),
}

#[derive(Serialize)]
struct WelcomeView<'a> {
    mid: Shown<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<&'a str>,
    connection: Shown<ConnectionId>,
    now: u64,
    today: Shown<Day>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flag: Option<Shown<Day>>,
    interval: u64,
    recording: RecordingView,
    expires: u64,
    limits: &'a WelcomeLimits,
}

#[derive(Serialize)]
struct AckView<'a> {
    seq: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    flag: Option<Shown<Day>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<u64>,
    #[serde(skip_serializing_if = "RejectionsView::is_empty")]
    rejected: RejectionsView<'a>,
}

#[derive(Default, Serialize)]
struct ResultView<'a> {
    seq: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<RecordsView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a str>,
    #[serde(skip_serializing_if = "is_false")]
    partial: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<RecordingView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
}

#[derive(Serialize)]
struct ErrorView<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u32>,
    code: &'static str,
    message: &'a str,
    retry: bool,
}

#[derive(Default, Serialize)]
struct PushView<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<RecordView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<ContentsView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cleared: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<RecordingView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flag: Option<Shown<Day>>,
}

#[derive(Serialize)]
struct ByeView {
    reason: &'static str,
    reconnect_after: u64,
}

impl<'a> FrameView<'a> {
    fn new(frame: &'a ServerFrame, telling: Telling<'a>) -> Self {
        match frame {
            ServerFrame::Welcome(welcome) => FrameView::Welcome(WelcomeView::new(welcome)),
            ServerFrame::Ack(Ack { seq, flag, rejected, now }) => {
                let (flag, rejected) = (flag.map(Shown), RejectionsView(rejected, telling));
                FrameView::Ack(AckView { seq: *seq, flag, now: *now, rejected })
            }
            ServerFrame::Result { seq, answer } => FrameView::Result(ResultView::new(*seq, answer, telling)),
            ServerFrame::Error { seq, code, message } => FrameView::Error(ErrorView::new(*seq, *code, message)),
            ServerFrame::Push(push) => FrameView::Push(PushView::new(push, telling)),
            ServerFrame::Reward(claim, name) => FrameView::Reward(RewardView::new(claim, name.as_ref(), telling.texts)),
            ServerFrame::Bye { reason, reconnect_after_ms } => {
                FrameView::Bye(ByeView { reason, reconnect_after: *reconnect_after_ms })
            }
        }
    }
}

impl<'a> WelcomeView<'a> {
    fn new(welcome: &'a Welcome) -> Self {
        WelcomeView {
            mid: Shown(welcome.user.id.0),
            sub: welcome.user.told().sub(),
            connection: Shown(welcome.connection),
            now: welcome.now,
            today: Shown(welcome.today),
            flag: welcome.flag.map(Shown),
            interval: welcome.interval_ms,
            recording: RecordingView { paused: welcome.paused },
            expires: welcome.expires,
            limits: &welcome.limits,
        }
    }
}

impl<'a> ResultView<'a> {
    fn new(seq: u32, answer: &'a Answer, telling: Telling<'a>) -> Self {
        let view = ResultView { seq, ..ResultView::default() };
        match answer {
            Answer::Done => view,
            Answer::Records { records, partial } => {
                ResultView { records: Some(RecordsView::Asked(records, telling)), partial: *partial, ..view }
            }
            Answer::Page { records, cursor, partial } => {
                let records = Some(RecordsView::Listed(records, telling));
                ResultView { records, cursor: cursor.as_deref(), partial: *partial, ..view }
            }
            Answer::Recording { paused } => ResultView { recording: Some(RecordingView { paused: *paused }), ..view },
            Answer::Token { expires } => ResultView { expires: Some(*expires), ..view },
        }
    }
}

impl<'a> ErrorView<'a> {
    fn new(seq: Option<u32>, code: ErrorCode, message: &'a str) -> Self {
        ErrorView { seq, code: code.word(), message, retry: code.retry() }
    }
}

impl<'a> PushView<'a> {
    fn new(push: &'a Push, telling: Telling<'a>) -> Self {
        let view = PushView::default();
        match push {
            Push::Record(record) => PushView { record: Some(RecordView::new(record, telling)), ..view },
            Push::Deleted { contents, at } => {
                PushView { deleted: Some(ContentsView(contents, telling.texts)), at: Some(*at), ..view }
            }
            Push::Cleared { at } => PushView { cleared: Some(true), at: Some(*at), ..view },
            Push::Recording { paused } => PushView { recording: Some(RecordingView { paused: *paused }), ..view },
            Push::Flag(day) => PushView { flag: Some(Shown(*day)), ..view },
        }
    }
}

pub(super) fn is_false(flag: &bool) -> bool {
    !flag
}
