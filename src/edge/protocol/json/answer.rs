//! The bodies of HTTP answers.

use std::net::IpAddr;

use serde::Serialize;

use super::encode::{is_false, text_of};
use super::record::{RecordView, RecordingView, RecordsView, RejectionsView, RewardView, Shown};
use super::user::UserView;
use crate::auth::User;
use crate::protocol::frame::{Rejection, Telling};
use domain::devices::client::ListedConnection;
use model::content_name::ContentTexts;
use model::ids::ConnectionId;
use model::mid_hash::HashedMid;
use model::record::Record;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::user_name::UserName;

#[derive(Serialize)]
struct BeatsView<'a> {
    now: u64,
    today: Shown<Day>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flag: Option<Shown<Day>>,
    rejected: RejectionsView<'a>,
    rewards: Vec<RewardView<'a>>,
}

#[derive(Serialize)]
struct RewardsAnswer<'a> {
    day: Shown<Day>,
    rewards: Vec<RewardView<'a>>,
}

#[derive(Serialize)]
struct RecordsAnswer<'a> {
    records: RecordsView<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a str>,
    #[serde(skip_serializing_if = "is_false")]
    partial: bool,
}

#[derive(Serialize)]
struct OriginAnswer<'a> {
    origin: Option<&'a str>,
    allowed: bool,
}

#[derive(Serialize)]
struct ExportAnswer<'a> {
    #[serde(flatten)]
    user: UserView<'a>,
    recording: RecordingView,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewards: Option<Vec<RewardView<'a>>>,
    #[serde(flatten)]
    records: RecordsAnswer<'a>,
}

#[derive(Serialize)]
struct ConnectionsAnswer<'a> {
    #[serde(flatten)]
    user: UserView<'a>,
    gateway: &'a str,
    hash: Shown<HashedMid>,
    connections: Vec<ConnectionView<'a>>,
}

#[derive(Serialize)]
struct ConnectionView<'a> {
    connection: Shown<ConnectionId>,
    address: IpAddr,
    device: &'a str,
    since: u64,
}

impl<'a> ConnectionView<'a> {
    fn new(ListedConnection { id, client }: &'a ListedConnection) -> Self {
        ConnectionView { connection: Shown(*id), address: client.address, device: &client.device, since: client.since }
    }
}

/// The answer to a request with beats.
pub struct BeatsAnswer<'a> {
    /// Server-clock milliseconds.
    pub now: u64,
    pub today: Day,
    /// Today, when all is decided for the user.
    pub flag: Option<Day>,
    pub rejected: &'a [Rejection],
    pub rewards: &'a [ClaimKey],
    /// The user's name, where users have names.
    pub name: Option<&'a UserName>,
}

/// To `POST /v1/beats`.
pub fn encode_beats_answer(answer: &BeatsAnswer, telling: Telling) -> String {
    text_of(&BeatsView {
        now: answer.now,
        today: Shown(answer.today),
        flag: answer.flag.map(Shown),
        rejected: RejectionsView(answer.rejected, telling),
        rewards: RewardView::all(answer.rewards, answer.name, telling.texts),
    })
}

/// To `GET /v1/rewards/today`. `name`: of the user, where users have names.
pub fn encode_rewards(day: Day, rewards: &[ClaimKey], name: Option<&UserName>, texts: &ContentTexts) -> String {
    text_of(&RewardsAnswer { day: Shown(day), rewards: RewardView::all(rewards, name, texts) })
}

/// To `POST /v1/history/get`: `null` where nothing is known; with `partial` it may be what could not be read.
pub fn encode_records(records: &[Option<Record>], partial: bool, telling: Telling) -> String {
    text_of(&RecordsAnswer { records: RecordsView::Asked(records, telling), cursor: None, partial })
}

/// To `GET /v1/history`; `cursor` while there is more.
pub fn encode_page(records: &[Record], cursor: Option<&str>, partial: bool, telling: Telling) -> String {
    text_of(&RecordsAnswer { records: RecordsView::Listed(records, telling), cursor, partial })
}

/// A page of the data of a user.
pub struct Exported<'a> {
    pub user: &'a User,
    /// Whether recording is paused.
    pub paused: bool,
    /// On the first page.
    pub rewards: Option<&'a [ClaimKey]>,
    pub records: &'a [Record],
    /// While there is more.
    pub cursor: Option<&'a str>,
}

/// To `GET /v1/export`.
pub fn encode_export(exported: &Exported, telling: Telling) -> String {
    let Exported { user, paused, rewards, records, cursor } = *exported;
    text_of(&ExportAnswer {
        user: UserView::of(user),
        recording: RecordingView { paused },
        rewards: rewards.map(|claims| RewardView::all(claims, user.name.as_ref(), telling.texts)),
        records: RecordsAnswer { records: RecordsView::Listed(records, telling), cursor, partial: false },
    })
}

/// A user's connections to one gateway.
pub struct Connected<'a> {
    pub user: &'a User,
    pub gateway: &'a str,
    /// Stands for the user in the log.
    pub hash: HashedMid,
    pub connections: &'a [ListedConnection],
}

/// To `GET /v1/connections`.
pub fn encode_connections(connected: &Connected) -> String {
    let Connected { user, gateway, hash, connections } = *connected;
    text_of(&ConnectionsAnswer {
        user: UserView::of(user),
        gateway,
        hash: Shown(hash),
        connections: connections.iter().map(ConnectionView::new).collect(),
    })
}

/// To `GET /v1/history/{kind}/{oid}`.
pub fn encode_record(record: &Record, telling: Telling) -> String {
    text_of(&RecordView::new(record, telling))
}

/// To `GET /v1/origin`.
pub fn encode_asked_origin(origin: Option<&str>, allowed: bool) -> String {
    text_of(&OriginAnswer { origin, allowed })
}

/// To `GET` and `PUT /v1/recording`.
pub fn encode_recording(paused: bool) -> String {
    text_of(&RecordingView { paused })
}
