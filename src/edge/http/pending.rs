//! A request that waits for its commit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::problem::Problem;
use crate::context::ConnectionContext;
use domain::devices::inbox::{CloseRequest, Inbox, InboxBatch, Rejected};
use domain::devices::ready_list::Notifier;
use domain::ingest::intake::Intake;
use domain::ingest::source::Source;
use domain::rewards::decisions::Decisions;
use model::beat::Beat;
use model::change::{Action, Outcome};
use model::ids::{ConnectionId, UserId};
use model::rewards::day::Day;
use model::rewards::reward_notice::RewardNotice;
use model::visitor::Visitor;

/// How long a commit is waited for, at most. After it the outcome is unknown, and it is the client's to send the same again.
pub const COMMIT_MAX: Duration = Duration::from_secs(10);

/// Why a change is not known to be committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// Nothing was handed to the store.
    #[error("too many requests wait for the store")]
    NoRoom,
    /// Nothing was done.
    #[error("at: must not be ahead of the server's clock")]
    Ahead,
    #[error("the stored state of this user cannot be read")]
    Unreadable,
    #[error("the store did not answer; the outcome is unknown, repeat the request")]
    Late,
}

/// The submitted changes of one request, and their answers.
///
/// Bounded by `limits.beats` of one request, and by the room of the submit_queue: without it nothing is taken.
pub struct Pending<'a> {
    intake: &'a Intake,
    inbox: Arc<Inbox>,
    notify: Arc<Notify>,
}

impl<'a> Pending<'a> {
    /// `origin` is the user's connection that need not be told of what changes.
    pub fn new(
        context: &'a ConnectionContext,
        user: UserId,
        origin: Option<ConnectionId>,
        visitor: Visitor,
    ) -> Result<Self, CommitError> {
        let intake = context.lanes.intake(context.lanes.of(user));
        Self::of(intake, |notifier| context.authenticator.request(user, origin, visitor, notifier))
    }

    /// Changes that are submitted through the inbox that `inbox` makes.
    pub fn of(intake: &'a Intake, inbox: impl FnOnce(Notifier) -> Arc<Inbox>) -> Result<Self, CommitError> {
        if !intake.submit_queue.has_room() {
            return Err(CommitError::NoRoom);
        }
        let notify = Arc::new(Notify::new());
        Ok(Pending { intake, inbox: inbox(Notifier::Own(notify.clone())), notify })
    }

    /// Commits beats that came with `flag`. What was rejected of them comes in their order. `misnamed`: as of a
    /// [`Source`].
    pub async fn beats(
        self,
        device: &Arc<str>,
        flag: Option<Day>,
        items: &[Beat],
        misnamed: &[u32],
    ) -> Result<(Vec<Rejected>, RewardNotice), CommitError> {
        let (inbox, decisions) = (&self.inbox, &Decisions::default());
        let source =
            Source { inbox, device, seq: 0, read: Instant::now(), flag, decisions, misnamed, hold_until: None };
        let taken = self.intake.beats(&source, items);
        let (mut open, mut rejected, mut news) = (taken.slots, taken.rejected, RewardNotice::default());
        if open > 0 {
            let batch = |batch: InboxBatch| {
                rejected.extend(batch.rejected);
                open -= batch.slots;
                batch.news.into_iter().for_each(|later| news.add(*later));
                (open == 0).then_some(())
            };
            self.committed(batch).await?;
        }
        rejected.sort_unstable_by_key(|rejected| rejected.beat_ref.index);
        Ok((rejected, news))
    }

    /// Commits a delete, a clear, an erasure or a switch of recording.
    pub async fn order(self, action: Action) -> Result<Outcome, CommitError> {
        self.intake.order(&self.inbox, action);
        let outcome = *self.committed(|batch| batch.order).await?;
        match outcome {
            Outcome::Ahead => Err(CommitError::Ahead),
            Outcome::Unreadable { .. } => Err(CommitError::Unreadable),
            outcome => Ok(outcome),
        }
    }

    /// Passes the answers to `read` until it returns a value.
    async fn committed<T>(&self, mut read: impl FnMut(InboxBatch) -> Option<T>) -> Result<T, CommitError> {
        let answered = async {
            loop {
                self.notify.notified().await;
                let batch = self.inbox.take(Instant::now());
                if batch.close_request == Some(CloseRequest::Unreadable) {
                    return Err(CommitError::Unreadable);
                }
                if let Some(answer) = read(batch) {
                    return Ok(answer);
                }
            }
        };
        tokio::time::timeout(COMMIT_MAX, answered).await.map_err(|_| CommitError::Late)?
    }
}

impl From<CommitError> for Problem {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Ahead => Problem::invalid(error.to_string()),
            CommitError::NoRoom | CommitError::Unreadable | CommitError::Late => Problem::store_away(error.to_string()),
        }
    }
}
