//! Beats of many users in one call.
//!
//! Each entry has an inbox of its own, as a request over HTTP has, and all wake the one call. It is answered when all
//! entries are, or shortly before its deadline: then the entries that are not known to be committed say so.

use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{self, StreamExt};
use tokio::sync::Notify;
use tokio::time::timeout_at;
use tonic::Status;

use super::caller::Caller;
use super::decode::{self, Entry};
use super::gate::Deadline;
use super::{encode, status, wire};
use crate::auth::User;
use crate::called_users::CalledUsers;
use crate::context::ConnectionContext;
use crate::http::pending::COMMIT_MAX;
use crate::protocol::frame::Telling;
use domain::devices::inbox::{CloseRequest, Inbox, Rejected, WrittenBeat};
use domain::devices::ready_list::Notifier;
use domain::ingest::source::Source;
use domain::rewards::decisions::Decisions;
use model::beat::Beat;
use model::ids::Content;
use model::rewards::day::Day;
use model::rewards::reward_notice::RewardNotice;
use model::rule::{Reason, nonsense};
use model::visitor::Visitor;

/// Users whose flags are looked up at one time.
const LOOKUPS_MAX: usize = 64;

/// An entry that was handed in.
struct Pending {
    user: User,
    /// `None`: nothing of it was handed in, or it cannot be answered.
    inbox: Option<Arc<Inbox>>,
    /// Slots that are not answered yet.
    open: usize,
    rejected: Vec<Rejected>,
    written: Vec<WrittenBeat>,
    news: RewardNotice,
    unavailable: bool,
}

pub async fn put(
    context: &ConnectionContext,
    called_users: &CalledUsers,
    caller: &Caller,
    deadline: Deadline,
    request: wire::PutRequest,
) -> Result<wire::PutResponse, Status> {
    let entries = decode::entries(request.users, context.content_ids())?;
    for (index, entry) in entries.iter().enumerate() {
        let kinds = entry.beats.iter().map(|beat| beat.content.kind).enumerate();
        caller.require_kinds(kinds, |item| format!("users[{index}].items[{item}].kind"))?;
    }
    let whom = entries.iter().map(|entry| entry.whom.clone()).collect();
    let users = called_users.all_changed(whom).await.map_err(|error| status::of_users("users", error))?;
    decode::require_few_of_each(&entries, &users)?;
    let names: Vec<_> = entries.iter().flat_map(|entry| &entry.names).cloned().collect();
    if let Some(contents) = &context.contents {
        contents.require(&names).await.map_err(status::of_content_names)?;
    }
    let has_room = |user: &User| context.lanes.intake(context.lanes.of(user.id)).submit_queue.has_room();
    if !users.is_empty() && !users.iter().any(has_room) {
        return Err(status::overloaded("too many beats wait for the store"));
    }
    let notify = Arc::new(Notify::new());
    let handed_in = entries.iter().zip(users).map(|(entry, user)| hand_in(context, entry, user, &notify));
    let mut pending: Vec<Pending> = handed_in.collect();
    // A late entry is answered as such, so the timeout itself is ignored.
    let until = deadline.answer_by().min(tokio::time::Instant::now() + COMMIT_MAX);
    let _late = timeout_at(until, answered(&mut pending, &notify)).await;
    pending.iter_mut().filter(|pending| pending.open > 0).for_each(|pending| pending.unavailable = true);
    if !pending.is_empty() && pending.iter().all(|pending| pending.unavailable) {
        return Err(status::unavailable("the store did not answer; the outcome is unknown, repeat the call"));
    }
    let stored = pending.iter().zip(&entries).filter(|(pending, entry)| pending.is_stored(entry));
    let welcome = called_users.welcome_again(stored.map(|(pending, _)| &pending.user));
    welcome.await.map_err(status::of_names)?;
    let today = context.connect_lookup.today();
    let flags = flags(context, &pending, today, deadline).await;
    let texts = context.texts_of(pending.iter().flat_map(Pending::contents)).await;
    let texts = texts.map_err(status::of_content_names)?;
    let answers = pending.into_iter().zip(flags).zip(&entries);
    let telling = context.telling(&texts);
    let users = answers.map(|((pending, flag), entry)| pending.answer(telling, caller, flag, entry));
    Ok(wire::PutResponse { users: users.collect(), now: context.clock.now(), today: today.to_string() })
}

fn hand_in(context: &ConnectionContext, entry: &Entry, user: User, notify: &Arc<Notify>) -> Pending {
    let id = user.id;
    let intake = context.lanes.intake(context.lanes.of(id));
    let mut pending = Pending {
        user,
        inbox: None,
        open: 0,
        rejected: Vec::new(),
        written: Vec::new(),
        news: RewardNotice::default(),
        unavailable: false,
    };
    if entry.beats.is_empty() {
        return pending;
    }
    if !intake.submit_queue.has_room() {
        pending.unavailable = true;
        return pending;
    }
    let notifier = Notifier::Own(notify.clone());
    let inbox = context.authenticator.request(id, entry.origin, Visitor::default(), notifier);
    inbox.names_writes();
    let (read, decisions, flag) = (Instant::now(), &Decisions::default(), entry.flag);
    let misnamed = context.misnamed(&entry.names);
    let source = Source {
        inbox: &inbox,
        device: &entry.device,
        seq: 0,
        read,
        flag,
        decisions,
        misnamed: &misnamed,
        hold_until: None,
    };
    let taken = intake.beats(&source, &entry.beats);
    (pending.open, pending.rejected) = (taken.slots, taken.rejected);
    pending.inbox = Some(inbox);
    pending
}

/// Until every entry is.
async fn answered(pending: &mut [Pending], notify: &Notify) {
    while pending.iter().any(|pending| pending.open > 0) {
        notify.notified().await;
        let now = Instant::now();
        pending.iter_mut().filter(|pending| pending.open > 0).for_each(|pending| pending.take(now));
    }
}

/// The flag of each entry, as far as it is known in time.
async fn flags(context: &ConnectionContext, pending: &[Pending], today: Day, deadline: Deadline) -> Vec<Option<Day>> {
    let flag = async |pending: &Pending| match pending.news.flag {
        None => timeout_at(deadline.answer_by(), context.connect_lookup.flag(pending.user.id)).await.ok().flatten(),
        told => told,
    };
    let flags = stream::iter(pending).map(flag).buffered(LOOKUPS_MAX);
    flags.map(|flag| flag.filter(|day| *day == today)).collect().await
}

impl Pending {
    fn take(&mut self, now: Instant) {
        let Some(inbox) = &self.inbox else { return };
        let batch = inbox.take(now);
        if batch.close_request == Some(CloseRequest::Unreadable) {
            (self.open, self.unavailable) = (0, true);
            return;
        }
        self.open -= batch.slots;
        self.rejected.extend(batch.rejected);
        self.written.extend(batch.written);
        batch.news.into_iter().for_each(|later| self.news.add(*later));
    }

    /// Whether a beat is a part of what is stored now.
    fn is_stored(&self, entry: &Entry) -> bool {
        !self.unavailable && self.rejected.len() < entry.beats.len()
    }

    /// The contents that the answer names.
    fn contents(&self) -> impl Iterator<Item = Content> + '_ {
        let records = self.rejected.iter().filter_map(|rejected| rejected.record.as_ref());
        let rewarded = self.news.claims.iter().filter_map(|claim| claim.content);
        records.map(|record| record.content).chain(rewarded)
    }

    fn answer(mut self, telling: Telling, caller: &Caller, flag: Option<Day>, entry: &Entry) -> wire::UserAnswer {
        let (mid, sub) = (self.user.id.0, encode::sub(&self.user));
        if self.unavailable {
            return wire::UserAnswer { mid, sub, unavailable: true, ..wire::UserAnswer::default() };
        }
        self.rejected.sort_unstable_by_key(|rejected| rejected.beat_ref.index);
        self.written.sort_unstable_by_key(|written| written.beat_ref.index);
        let rejected = self.rejected.into_iter().map(|rejected| wire::PutRejected {
            index: rejected.beat_ref.index,
            reason: encode::reason(rejected.reason).into(),
            message: complaint(&rejected, &entry.beats),
            record: rejected.record.filter(|_| caller.may_read()).map(|it| encode::record(&it, telling)),
        });
        wire::UserAnswer {
            mid,
            flag: encode::flag(flag),
            rejected: rejected.collect(),
            rewards: self.news.claims.iter().map(|claim| encode::reward(claim, &self.user, telling.texts)).collect(),
            unavailable: false,
            sub,
            changed: self.written.iter().filter(|beat| !beat.steady).map(|beat| beat.beat_ref.index).collect(),
        }
    }
}

/// The complaint about an invalid beat; empty for other reasons.
fn complaint(rejected: &Rejected, beats: &[Beat]) -> String {
    let beat = beats.get(rejected.beat_ref.index as usize).filter(|_| rejected.reason == Reason::Invalid);
    beat.map(nonsense).unwrap_or_default()
}
