//! Subscribers: what is asked, and how it is answered.

use std::collections::HashMap;
use std::str::FromStr;

use jiff::Timestamp;
use serde::de::{DeserializeOwned, Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::body::object;
use super::encode::text_of;
use super::fault::Fault;
use super::number::{EXACT_MAX, Id, Integer, Kind};
use super::query::given;
use super::shape::Object;
use crate::protocol::frame::DecodeError;
use crate::protocol::whom::Whom;
use domain::subscribers::CascadeStatus;
use model::content_name::{ContentIds, ContentName, ContentTexts};
use model::counters::CounterId;
use model::ids::UserId;
use model::rewards::rule::RewardRule;
use model::subscribers::{
    Dead, EventType, Failure, Filter, Owner, PauseReason, SigningSecret, State, Status, Subscriber, SubscriberId,
    WrittenFilter,
};
use model::user_name::{ToldUser, UserName};

/// The names in filters, as far as they are known.
#[derive(Default)]
pub struct FilterNames {
    pub users: HashMap<UserId, UserName>,
    pub contents: ContentTexts,
}

const LIST_DEFAULT: u64 = 1_000;
const LIST_MAX: u64 = 1_000;
const DEAD_DEFAULT: u64 = 100;
const DEAD_MAX: u64 = 1_000;

/// The body of `PUT /v1/subscribers/{id}`.
#[derive(Debug, PartialEq)]
pub struct SubscriberBody {
    /// Not checked yet.
    pub url: String,
    pub types: Vec<EventType>,
    /// Without its users.
    pub filter: Filter,
    pub users: Vec<Whom>,
    /// The names of its contents, where contents have names.
    pub names: Vec<ContentName>,
    pub batch: u16,
    pub secret: Option<SigningSecret>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(bound = "M: DeserializeOwned")]
struct SubscriberShape<M> {
    url: String,
    types: Vec<Word<EventType>>,
    filter: Option<Object<FilterShape<M>>>,
    batch: Option<Integer<1, { Subscriber::BATCH_MAX as u64 }>>,
    secret: Option<Word<SigningSecret>>,
}

/// `M`: what names a user.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "M: DeserializeOwned")]
struct FilterShape<M> {
    rules: Option<Vec<Word<RuleId>>>,
    counters: Option<Vec<Word<CounterId>>>,
    kinds: Option<Vec<Kind>>,
    contents: Option<Vec<String>>,
    mids: Option<Vec<M>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplayShape {
    since: Word<Since>,
}

/// A text that stands for something.
struct Word<T>(T);

/// Says what a [`Word`] must be.
trait Named: FromStr {
    const EXPECTED: &str;
}

struct RuleId(String);

/// A time of RFC 3339, milliseconds since 1970.
struct Since(u64);

#[derive(Serialize)]
struct SubscriberView<'a> {
    id: &'a str,
    url: &'a str,
    types: &'a [EventType],
    filter: WrittenFilter,
    batch: u16,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    depth: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest: Option<u64>,
    delivered: u64,
    dead: u64,
    /// Until the next try, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_try: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replaying: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<FailureView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

#[derive(Serialize)]
struct FailureView {
    at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    reason: &'static str,
}

#[derive(Serialize)]
struct ListView<'a> {
    subscribers: Vec<SubscriberView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<&'a str>,
    cascade: CascadeView,
}

#[derive(Serialize)]
struct CascadeView {
    #[serde(skip_serializing_if = "Option::is_none")]
    looked_at: Option<u64>,
    away: bool,
}

#[derive(Serialize)]
struct SecretView {
    secret: String,
}

#[derive(Serialize)]
struct ResentView {
    resent: u64,
}

#[derive(Serialize)]
struct DeadListView<'a> {
    dead: Vec<DeadView<'a>>,
    next: u64,
}

#[derive(Serialize)]
struct DeadView<'a> {
    event: &'a RawValue,
    reason: &'static str,
    at: u64,
}

/// `by_name`: users are named by texts.
pub fn decode_subscriber(body: &[u8], by_name: bool, ids: ContentIds) -> Result<SubscriberBody, DecodeError> {
    match by_name {
        true => decode(body, ids, |name: Word<UserName>| Whom::Sub(name.0)),
        false => decode(body, ids, |id: Id| Whom::Mid(UserId(id.0))),
    }
}

fn decode<M: DeserializeOwned>(
    body: &[u8],
    ids: ContentIds,
    whom: impl Fn(M) -> Whom,
) -> Result<SubscriberBody, DecodeError> {
    let SubscriberShape { url, types, filter, batch, secret } = object(body)?;
    let mut types: Vec<EventType> = types.into_iter().map(|word| word.0).collect();
    types.sort_unstable();
    types.dedup();
    if types.is_empty() {
        return Err(answer(Fault::invalid("types", "must have at least one")));
    }
    let filter = filter.map(|filter| filter_of(filter.0, ids, whom)).transpose().map_err(answer)?;
    let (filter, users, names) = filter.unwrap_or_default();
    let batch = batch.map_or(1, |batch| batch.0 as u16);
    Ok(SubscriberBody { url, types, filter, users, names, batch, secret: secret.map(|secret| secret.0) })
}

/// Decodes the body of `POST …/replay`: milliseconds since 1970.
pub fn decode_replay(body: &[u8]) -> Result<u64, DecodeError> {
    let ReplayShape { since } = object(body)?;
    Ok(since.0.0)
}

/// `GET /v1/subscribers?after=&limit=`
pub fn decode_subscriber_list(
    after: Option<&str>,
    limit: Option<&str>,
) -> Result<(Option<SubscriberId>, usize), DecodeError> {
    let after = given(after).map(str::parse::<SubscriberId>).transpose();
    let after = after.map_err(|error| answer(Fault::invalid("after", error.to_string())))?;
    Ok((after, limit_of(limit, LIST_DEFAULT, LIST_MAX)?))
}

/// `GET …/dead?after=&limit=`
pub fn decode_dead(after: Option<&str>, limit: Option<&str>) -> Result<(u64, usize), DecodeError> {
    let after = given(after).map(Integer::<0, EXACT_MAX>::from_text).transpose();
    let after = after.map_err(|complaint| answer(Fault::invalid("after", complaint)))?;
    Ok((after.map_or(0, |after| after.0), limit_of(limit, DEAD_DEFAULT, DEAD_MAX)?))
}

/// `secret`: one that was made here.
pub fn encode_subscriber(owner: &Owner, names: &FilterNames, secret: Option<&SigningSecret>) -> String {
    text_of(&SubscriberView { secret: secret.map(SigningSecret::expose), ..SubscriberView::of(owner, names) })
}

/// `is_whole`: there are no more.
pub fn encode_subscriber_list(owners: &[Owner], names: &FilterNames, is_whole: bool, cascade: CascadeStatus) -> String {
    let next = owners.last().filter(|_| !is_whole).map(|owner| owner.id.as_str());
    let CascadeStatus { looked_at, is_away: away } = cascade;
    let subscribers = owners.iter().map(|owner| SubscriberView::of(owner, names)).collect();
    text_of(&ListView { subscribers, next, cascade: CascadeView { looked_at, away } })
}

pub fn encode_secret(secret: &SigningSecret) -> String {
    text_of(&SecretView { secret: secret.expose() })
}

pub fn encode_resent(resent: u64) -> String {
    text_of(&ResentView { resent })
}

/// `after`: what was asked for, to go on with when there is nothing.
pub fn encode_dead(dead: &[Dead], after: u64) -> String {
    let next = dead.last().map_or(after, |dead| dead.number);
    let views = dead.iter().filter_map(|dead| {
        // An event is JSON, or it would not have been queued.
        let event = serde_json::from_str(&dead.event).ok()?;
        Some(DeadView { event, reason: dead.reason.word(), at: dead.at })
    });
    text_of(&DeadListView { dead: views.collect(), next })
}

impl<'a> SubscriberView<'a> {
    fn of(owner: &'a Owner, names: &FilterNames) -> Self {
        let Owner { subscriber, status, .. } = owner;
        let user = |id| ToldUser { id, name: names.users.get(&id) }.text();
        let (state, reason) = state_of(status);
        let failing = state == "failing";
        SubscriberView {
            id: owner.id.as_str(),
            url: subscriber.url.as_str(),
            types: &subscriber.types,
            filter: subscriber.filter.written(user, |content| names.contents.text(content)),
            batch: subscriber.batch,
            state,
            reason,
            depth: owner.depth,
            oldest: owner.oldest,
            delivered: owner.delivered,
            dead: owner.dead,
            next_try: owner.next_try.filter(|_| failing).map(|pause| pause.as_millis() as u64),
            replaying: owner.replaying,
            last_error: status.last_failure.as_ref().map(FailureView::of),
            secret: None,
        }
    }
}

impl FailureView {
    fn of(Failure { at, status, reason }: &Failure) -> Self {
        FailureView { at: *at, status: *status, reason: reason.word() }
    }
}

fn state_of(status: &Status) -> (&'static str, Option<&'static str>) {
    match status.state {
        State::Active if status.failing.is_some() => ("failing", None),
        State::Active => ("active", None),
        State::Paused(PauseReason::Requested) => ("paused", Some("requested")),
        State::Paused(PauseReason::TriesUsedUp) => ("paused", Some("tries_used_up")),
        State::Paused(PauseReason::Other) => ("paused", Some("other")),
        State::Disabled => ("disabled", Some("gone")),
    }
}

/// The filter without its users, these, and the names of its contents.
fn filter_of<M>(
    shape: FilterShape<M>,
    ids: ContentIds,
    whom: impl Fn(M) -> Whom,
) -> Result<(Filter, Vec<Whom>, Vec<ContentName>), Fault> {
    let FilterShape { rules, counters, kinds, contents, mids } = shape;
    let contents = values(contents, "contents", |text| text)?;
    let contents = contents.iter().enumerate().map(|(index, text)| {
        let expected = "must be a kind and an oid, such as \"1:100\"";
        ids.content(text).map_err(|_| Fault::invalid(&format!("contents[{index}]"), expected).within("filter"))
    });
    let contents = contents.collect::<Result<Vec<_>, _>>()?;
    let names = contents.iter().filter_map(|(_, name)| name.clone()).collect();
    let filter = Filter {
        rules: values(rules, "rules", |word| word.0.0)?,
        counters: values(counters, "counters", |word| word.0)?,
        kinds: values(kinds, "kinds", Kind::get)?,
        contents: contents.into_iter().map(|(content, _)| content).collect(),
        users: Vec::new(),
    };
    Ok((filter, values(mids, "mids", whom)?, names))
}

fn values<W, T>(given: Option<Vec<W>>, name: &str, value: impl Fn(W) -> T) -> Result<Vec<T>, Fault> {
    let given = given.unwrap_or_default();
    match given.len() > Filter::VALUES_MAX {
        true => Err(Fault::too_many(name, Filter::VALUES_MAX).within("filter")),
        false => Ok(given.into_iter().map(value).collect()),
    }
}

fn limit_of(limit: Option<&str>, default: u64, max: u64) -> Result<usize, DecodeError> {
    let limit = given(limit).map(Integer::<1, EXACT_MAX>::from_text).transpose();
    let limit = limit.map_err(|complaint| answer(Fault::invalid("limit", complaint)))?;
    Ok(limit.map_or(default, |limit| limit.0).min(max) as usize)
}

fn answer(fault: Fault) -> DecodeError {
    fault.malformed(None, false)
}

impl<'de, T: Named> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Word).map_err(|_| D::Error::custom(format_args!("must be {}", T::EXPECTED)))
    }
}

impl Named for EventType {
    const EXPECTED: &str = "a type of event that can be subscribed to, such as dev.heartline.reward.v1";
}

impl Named for SigningSecret {
    const EXPECTED: &str = "\"whsec_\" and the Base64 of 24 to 64 bytes";
}

impl Named for CounterId {
    const EXPECTED: &str = "the id of a counter";
}

impl Named for RuleId {
    const EXPECTED: &str = "the id of a rule";
}

impl Named for UserName {
    const EXPECTED: &str = "the name of a user: 1 to 256 bytes without control characters";
}

impl Named for Since {
    const EXPECTED: &str = "a time of RFC 3339, such as \"2026-11-20T00:00:00Z\"";
}

impl FromStr for RuleId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        RewardRule::is_id(text).then(|| RuleId(text.to_owned())).ok_or(())
    }
}

impl FromStr for Since {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let since: Timestamp = text.parse().map_err(drop)?;
        u64::try_from(since.as_millisecond()).map(Since).map_err(drop)
    }
}

#[cfg(test)]
#[path = "subscribers_tests.rs"]
mod tests;
