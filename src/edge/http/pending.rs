//! A request that waits for its commit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::problem::Problem;
use crate::domain::devices::bell::Bell;
use crate::domain::devices::mailbox::{Letters, Mailbox, Rejected};
use crate::domain::ingest::intake::Intake;
use crate::domain::ingest::source::Source;
use crate::domain::rewards::decisions::Decisions;
use crate::domain::rewards::news::News;
use crate::edge::desk::Desk;
use crate::model::beat::Beat;
use crate::model::change::{Action, Outcome};
use crate::model::ids::{ConnectionId, UserId};
use crate::model::rewards::day::Day;

/// How long a commit is waited for. After it the outcome is unknown, and it is the client's to send the same again.
const COMMIT_MAX: Duration = Duration::from_secs(10);

/// What one request submits on behalf of a user, and its answers.
///
/// Bounded by `limits.beats` of one request, and by the room of the lane: without it nothing is taken.
pub struct Pending<'a> {
    intake: &'a Intake,
    mailbox: Arc<Mailbox>,
    rung: Arc<Notify>,
}

impl<'a> Pending<'a> {
    /// `origin` is the user's connection that need not be told of what changes.
    pub fn new(desk: &'a Desk, user: UserId, origin: Option<ConnectionId>) -> Result<Self, Problem> {
        Self::of(&desk.intake, |bell| desk.gate.request(user, origin, bell))
    }

    /// What is submitted through the mailbox that `mailbox` makes for it.
    pub fn of(intake: &'a Intake, mailbox: impl FnOnce(Bell) -> Arc<Mailbox>) -> Result<Self, Problem> {
        if !intake.lane.has_room() {
            return Err(Problem::store_away("too much waits for the store"));
        }
        let rung = Arc::new(Notify::new());
        Ok(Pending { intake, mailbox: mailbox(Bell::Own(rung.clone())), rung })
    }

    /// Commits beats that came with `flag`. What was rejected of them comes in their order.
    pub async fn beats(
        self,
        device: &Arc<str>,
        flag: Option<Day>,
        items: &[Beat],
    ) -> Result<(Vec<Rejected>, News), Problem> {
        let (mailbox, decisions) = (&self.mailbox, &Decisions::default());
        let source = Source { mailbox, device, seq: 0, read: Instant::now(), flag, decisions };
        let taken = self.intake.beats(&source, items);
        let (mut open, mut rejected, mut news) = (taken.slots, taken.rejected, News::default());
        if open > 0 {
            let letters = |letters: Letters| {
                rejected.extend(letters.rejected);
                open -= letters.slots;
                letters.news.into_iter().for_each(|later| news.add(*later));
                (open == 0).then_some(())
            };
            self.committed(letters).await?;
        }
        rejected.sort_unstable_by_key(|rejected| rejected.place.index);
        Ok((rejected, news))
    }

    /// Commits a forgetting or a switch.
    pub async fn order(self, action: Action) -> Result<Outcome, Problem> {
        self.intake.order(&self.mailbox, action);
        let outcome = *self.committed(|letters| letters.order).await?;
        if outcome == Outcome::Ahead {
            return Err(Problem::invalid("at: must not be ahead of the server's clock"));
        }
        Ok(outcome)
    }

    /// Hands over what comes until `read` has all it waits for.
    async fn committed<T>(&self, mut read: impl FnMut(Letters) -> Option<T>) -> Result<T, Problem> {
        let answered = async {
            loop {
                self.rung.notified().await;
                if let Some(answer) = read(self.mailbox.take(Instant::now())) {
                    return answer;
                }
            }
        };
        let late = |_| Problem::store_away("the store has not answered; it is not known what it did");
        tokio::time::timeout(COMMIT_MAX, answered).await.map_err(late)
    }
}
