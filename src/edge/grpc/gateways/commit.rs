//! Changes of many users, as a gateway has gathered them.
//!
//! Each change has an inbox of its own, and all wake the one call. What is not answered shortly before the deadline is not
//! known to be committed, and its answer says so: the gateway sends it again.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Notify;
use tokio::time::{timeout, timeout_at};
use tonic::Status;

use super::{GatewayService, LOOK_INTERVAL, malformed, status};
use crate::context::ConnectionContext;
use crate::grpc::gate::Deadline;
use domain::devices::inbox::{CloseRequest, Inbox, Rejected, WrittenBeat};
use domain::devices::ready_list::Notifier;
use domain::gateway_messages::changes::{self, Sent, SentChange};
use domain::gateway_messages::{answers, encode_day, revocations, wire};
use domain::ingest::health::StoreHealth;
use domain::ingest::source::Source;
use domain::revocations::{Revocations, Unchanged};
use domain::rewards::decisions::Decisions;
use model::change::Outcome;
use model::ids::GatewayId;
use model::revocation::Revocation;
use model::rewards::reward_notice::RewardNotice;
use model::rule::{Reason, Verdict};
use model::sender::Sender;
use model::shard::{Shard, Shards};

/// Changes of one call. A gateway sends fewer.
const CHANGES_MAX: usize = 16_384;

/// A change that was handed in.
struct Pending {
    /// `None`: there was no room for it, or the store is away.
    inbox: Option<Arc<Inbox>>,
    shard: Shard,
    /// The number of its beats; 0 = it is an order.
    beats: usize,
    /// Slots that are not answered yet; an order has one.
    open: usize,
    rejected: Vec<Rejected>,
    written: Vec<WrittenBeat>,
    news: Option<Box<RewardNotice>>,
    order: Option<Box<Outcome>>,
    is_unreadable: bool,
}

/// Changes that the store would not take now are not handed in: the gateway can have them committed by another service.
pub async fn commit(
    service: &GatewayService,
    deadline: Deadline,
    request: wire::CommitRequest,
) -> Result<wire::CommitResponse, Status> {
    let (context, health) = (&*service.context, &service.store.health);
    if request.changes.len() > CHANGES_MAX {
        return Err(Status::invalid_argument(format!("changes: must hold at most {CHANGES_MAX}")));
    }
    let gateway = GatewayId(request.gateway);
    let now = context.clock.now();
    let changes = request.changes.into_iter().map(|change| changes::decode(change, now));
    let changes = changes.collect::<Result<Vec<_>, _>>().map_err(malformed)?;
    let notify = Arc::new(Notify::new());
    let mut pending: Vec<Pending> =
        changes.into_iter().map(|change| hand_in(service, gateway, change, &notify)).collect();
    // A late change is answered as such, so the timeout itself is ignored.
    let _late = timeout_at(deadline.answer_by(), answered(&mut pending, &notify, health)).await;
    forget_views(context, &mut pending).await;
    let answers = pending.into_iter().map(|pending| answers::encode(&pending.answer())).collect();
    Ok(wire::CommitResponse { answers, today: encode_day(Some(context.connect_lookup.today())) })
}

fn hand_in(service: &GatewayService, gateway: GatewayId, change: SentChange, notify: &Arc<Notify>) -> Pending {
    let context = &service.context;
    let SentChange { user, sender: Sender { connection, visitor, known }, what } = change;
    let (intake, shard) = (context.lanes.intake(context.lanes.of(user)), Shards::DEFAULT.of(user));
    let mut pending = Pending {
        inbox: None,
        shard,
        beats: 0,
        open: 1,
        rejected: Vec::new(),
        written: Vec::new(),
        news: None,
        order: None,
        is_unreadable: false,
    };
    if !service.store.health.serves(shard) || !intake.submit_queue.has_room() {
        return pending;
    }
    let notifier = Notifier::Own(notify.clone());
    let inbox = context.authenticator.forwarded(user, (gateway, connection), visitor, notifier);
    match what {
        Sent::Order(action) => intake.order(&inbox, action),
        Sent::Beats { device, beats } => {
            inbox.names_writes();
            let mut decisions = Decisions::new(known.user);
            if let (Some(day), Some(beat)) = (known.content, beats.first()) {
                decisions.decided_content(day, beat.content);
            }
            let source = Source {
                inbox: &inbox,
                device: &device,
                seq: 0,
                read: Instant::now(),
                flag: known.user,
                decisions: &decisions,
                // The gateway has seen to the names.
                misnamed: &[],
                hold_until: None,
            };
            let taken = intake.beats(&source, &beats);
            (pending.beats, pending.open, pending.rejected) = (beats.len(), taken.slots, taken.rejected);
        }
    }
    pending.inbox = Some(inbox);
    pending
}

/// Waits until every accepted change is answered, or until those that are not wait for a store that is away.
async fn answered(pending: &mut [Pending], notify: &Notify, health: &StoreHealth) {
    let waits = |pending: &Pending| pending.open > 0 && pending.inbox.is_some();
    while pending.iter().any(waits) {
        if timeout(LOOK_INTERVAL, notify.notified()).await.is_err()
            && !pending.iter().any(|pending| waits(pending) && health.serves(pending.shard))
        {
            return;
        }
        let now = Instant::now();
        pending.iter_mut().filter(|pending| waits(pending)).for_each(|pending| pending.take(now));
    }
}

/// An erasure is done when the marks of what was viewed are gone, too. One that fails is not known to be done.
async fn forget_views(context: &ConnectionContext, pending: &mut [Pending]) {
    let Some(views) = &context.views else { return };
    for pending in pending.iter_mut().filter(|pending| matches!(pending.order.as_deref(), Some(Outcome::Erased { .. })))
    {
        let Some(user) = pending.inbox.as_ref().map(|inbox| inbox.user) else { continue };
        if views.forget(user).await.is_err() {
            pending.open = 1;
        }
    }
}

impl Pending {
    fn take(&mut self, now: Instant) {
        let Some(inbox) = &self.inbox else { return };
        let batch = inbox.take(now);
        if batch.close_request == Some(CloseRequest::Unreadable) {
            (self.open, self.is_unreadable) = (0, true);
            return;
        }
        self.open -= batch.slots + usize::from(batch.order.is_some());
        self.rejected.extend(batch.rejected);
        self.written.extend(batch.written);
        self.order = batch.order.or(self.order.take());
        match (&mut self.news, batch.news) {
            (Some(news), Some(later)) => news.add(*later),
            (news, later) => *news = news.take().or(later),
        }
    }

    fn answer(self) -> answers::Answer {
        if self.open > 0 {
            return None;
        }
        let news = self.news.map(|news| *news);
        if self.is_unreadable {
            return Some((Outcome::Unreadable { why: Arc::from("the history service cannot read it") }, news));
        }
        if let Some(outcome) = self.order {
            return Some((*outcome, news));
        }
        let (verdict, skipped) = verdict(self.beats, self.rejected, &self.written);
        Some((Outcome::Beat { verdict, skipped }, news))
    }
}

/// The verdict on the beat that speaks for all, and the number of newer ones, which were made while recording was paused.
fn verdict(beats: usize, mut rejected: Vec<Rejected>, written: &[WrittenBeat]) -> (Verdict, usize) {
    let index_of = |rejected: &Rejected| rejected.beat_ref.index as usize;
    let is_paused = |index: usize| {
        rejected.iter().any(|rejected| index_of(rejected) == index && rejected.reason == Reason::NotRecording)
    };
    // The oldest keeps its verdict, whatever it is.
    let skipped = (1..beats).rev().take_while(|index| is_paused(*index)).count();
    let index = (beats - 1) - skipped;
    if let Some(found) = rejected.iter().position(|rejected| index_of(rejected) == index) {
        let Rejected { reason, record, .. } = rejected.swap_remove(found);
        return (Verdict::Rejected { reason, record }, skipped);
    }
    let written = written.iter().find(|written| written.beat_ref.index as usize == index);
    (
        written
            .map_or(Verdict::Same, |written| Verdict::Written { steady: written.steady, kept_dur: written.kept_dur }),
        skipped,
    )
}

pub async fn revoke(
    revocations: &Arc<Revocations>,
    request: wire::RevokeRequest,
) -> Result<wire::RevokeResponse, Status> {
    let revocation = request.revocation.ok_or_else(|| Status::invalid_argument("revocation is missing"))?;
    let (revocations, revocation) = (revocations.clone(), revocations::decode(revocation));
    match blocking(move || revocations.adopt(&revocation, request.now)).await? {
        Ok(stands) => Ok(wire::RevokeResponse { stands: Some(revocations::encode(&stands)), full: false }),
        Err(Unchanged::Full) => Ok(wire::RevokeResponse { stands: None, full: true }),
        Err(error) => Err(status::unavailable(error.to_string())),
    }
}

pub async fn take_back(
    revocations: &Arc<Revocations>,
    request: wire::TakeBackRequest,
) -> Result<wire::TakeBackResponse, Status> {
    let revocation = request.revocation.ok_or_else(|| Status::invalid_argument("revocation is missing"))?;
    let Revocation { what, at_ms, .. } = revocations::decode(revocation);
    let (revocations, upto_ms) = (revocations.clone(), if at_ms == 0 { u64::MAX } else { at_ms });
    let taken = blocking(move || revocations.take_back_upto(&what, upto_ms)).await?;
    taken.map(|()| wire::TakeBackResponse {}).map_err(|error| status::unavailable(error.to_string()))
}

pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Status> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Status::internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::devices::inbox::BeatRef;

    fn rejected(index: u32, reason: Reason) -> Rejected {
        Rejected { beat_ref: BeatRef { seq: 0, index }, reason, record: None }
    }

    fn written(index: u32, steady: bool) -> WrittenBeat {
        WrittenBeat { beat_ref: BeatRef { seq: 0, index }, steady, kept_dur: 0 }
    }

    #[test]
    fn the_newest_accepted_beat_speaks_for_all() {
        let refused = |reason| Verdict::Rejected { reason, record: None };
        assert_eq!(verdict(1, vec![], &[]), (Verdict::Same, 0));
        assert_eq!(verdict(3, vec![], &[written(2, true)]), (Verdict::written(true), 0));
        let paused = vec![rejected(1, Reason::NotRecording), rejected(2, Reason::NotRecording)];
        assert_eq!(verdict(3, paused.clone(), &[written(0, false)]), (Verdict::written(false), 2));
        let all = [vec![rejected(0, Reason::NotRecording)], paused].concat();
        assert_eq!(verdict(3, all, &[]), (refused(Reason::NotRecording), 2));
        let late = vec![rejected(0, Reason::Expired)];
        assert_eq!(verdict(2, late, &[written(1, true)]), (Verdict::written(true), 0));
        assert_eq!(verdict(2, vec![rejected(1, Reason::Clock)], &[]), (refused(Reason::Clock), 0));
    }
}
