//! What follows a commit: listeners hear of each group that was committed, once its answers were handed back.
//!
//! They get outcomes and transitions, and nothing of how a change came here or goes back. What must not be lost is not
//! for them: it is written in the same step as the record.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use prometheus_client::metrics::counter::Counter;

use crate::model::change::Outcome;
use crate::model::decide::Transitions;
use crate::model::ids::{ConnectionId, UserId};
use crate::model::rewards::day::Day;
use crate::model::transition::Transition;
use crate::model::visitor::Visitor;

/// Called after each durable commit, on the commit thread: must not block.
///
/// It hears of each change once, also when the commit had to be repeated, and in the order in which the changes took
/// effect. A panic is logged and counted; it loses what the listener had to do for that group, and nothing else.
pub trait CommitListener: Send + Sync {
    /// For log lines.
    fn name(&self) -> &'static str;

    fn committed(&self, group: &CommittedGroup);
}

/// The changes of a group that did something, with their transitions, or could not be done; in their order.
#[derive(Debug, Default)]
pub struct CommittedGroup {
    pub changes: Vec<CommittedChange>,
    /// In the order of the changes.
    pub transitions: Transitions,
}

#[derive(Debug)]
pub struct CommittedChange {
    pub user: UserId,
    /// The connection that has made it: it knows of it by the answer.
    pub origin: ConnectionId,
    /// The client of that connection, or of the request; nothing is known of those that come by the control listener.
    pub visitor: Visitor,
    pub outcome: Outcome,
    /// It made a claim, and now all is decided for the user on this day.
    pub flag: Option<Day>,
    /// The user has other connections here, as far as a look without a lock can tell.
    pub here: bool,
    /// The user may be connected to other gateways.
    pub elsewhere: bool,
    /// Where its transitions are among those of the group.
    pub transitions: Range<usize>,
}

impl CommittedGroup {
    pub fn transitions_of(&self, change: &CommittedChange) -> impl Iterator<Item = &Transition> {
        self.transitions[change.transitions.clone()].iter().map(|(_, transition)| transition)
    }

    /// Has all listeners hear of it.
    pub fn tell(&self, listeners: &[Arc<dyn CommitListener>], panics: &Counter) {
        if self.changes.is_empty() {
            return;
        }
        for listener in listeners {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| listener.committed(self))) {
                panics.inc();
                tracing::error!(
                    event = "commit_listener_panicked",
                    listener = listener.name(),
                    why = text_of(&*panic),
                    "a commit listener panicked; commits go on, its work for one group is lost"
                );
            }
        }
    }
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default()
}
