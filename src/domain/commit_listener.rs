//! Listeners are called with each committed group, after its answers were handed back.
//!
//! They get outcomes and transitions, and do not know the protocol of a change. Effects that must not be lost are not
//! left to listeners: they are written in the same step as the record.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use prometheus_client::metrics::counter::Counter;

use model::change::Outcome;
use model::decide::Transitions;
use model::ids::{ConnectionId, GatewayId, UserId};
use model::rewards::day::Day;
use model::transition::Transition;
use model::visitor::Visitor;

/// Called after each durable commit, on the commit thread: must not block.
///
/// A listener gets each change once, even if the commit had to be repeated, and in the order in which the changes took
/// effect. A panic is logged and counted. It loses only the listener's work for that group.
pub trait CommitListener: Send + Sync {
    /// The name of the listener in log lines.
    fn name(&self) -> &'static str;

    fn committed(&self, group: &CommittedGroup);
}

/// The changes of a group that had an effect or could not be done, in order, with their transitions.
#[derive(Debug, Default)]
pub struct CommittedGroup {
    pub changes: Vec<CommittedChange>,
    /// In the order of the changes.
    pub transitions: Transitions,
}

#[derive(Debug)]
pub struct CommittedChange {
    pub user: UserId,
    /// The connection that made the change. It gets the answer and no push.
    pub origin: ConnectionId,
    /// The gateway without a store that sent the change, if one did. It tells its own connections of it.
    pub gateway: Option<GatewayId>,
    /// The client of that connection or request; empty for requests of the control listener.
    pub visitor: Visitor,
    pub outcome: Outcome,
    /// The day, if the change made a claim after which all rules per user are decided for the user on this day.
    pub flag: Option<Day>,
    /// The user has other connections here, as read without a lock.
    pub here: bool,
    /// The user may be connected to other gateways.
    pub elsewhere: bool,
    /// The range of its transitions among those of the group.
    pub transitions: Range<usize>,
}

impl CommittedGroup {
    pub fn transitions_of(&self, change: &CommittedChange) -> impl Iterator<Item = &Transition> {
        self.transitions[change.transitions.clone()].iter().map(|(_, transition)| transition)
    }

    /// Calls all listeners with the group.
    pub fn notify(&self, listeners: &[Arc<dyn CommitListener>], panics: &Counter) {
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
