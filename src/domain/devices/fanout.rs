//! Pushes committed changes to the user's other connections, and never to the one that made the change.
//!
//! ```text
//! committed here ─┬─ inboxes of the user's connections here
//!                 ├─ channel, when the store has seen that other gateways follow the user
//!                 └─ gateways without a store that follow the user through this process
//! channel ────────── inboxes of the user's connections here
//! ```

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use super::newest::{Newest, NewestGuard};
use super::presence::Presence;
use crate::commit_listener::{CommitListener, CommittedChange, CommittedGroup};
use crate::time::clock::Clock;
use model::change::Outcome;
use model::ids::UserId;
use model::push::Push;
use model::rewards::reward_notice::RewardNotice;
use model::rule::Verdict;
use model::transition::Cause;
use model::version::Version;
use storage::device_channel::{Announcement, DeviceChannel, UserChange};

/// A record is pushed at once if it is new or its state or session has changed. Otherwise the latest record is pushed
/// after at most `steady_interval`. Changes from another gateway are pushed by the same rules, except that a change of
/// a content is left out after a newer one was pushed.
pub struct Fanout {
    presence: Arc<Presence>,
    channel: Arc<dyn DeviceChannel>,
    newest: Newest,
    steady_interval: Duration,
    clock: Arc<Clock>,
    pushes: Counter,
}

impl Fanout {
    pub fn new(
        presence: Arc<Presence>,
        channel: Arc<dyn DeviceChannel>,
        steady_interval: Duration,
        clock: Arc<Clock>,
        registry: &mut Registry,
    ) -> Self {
        let pushes = Counter::default();
        registry.register("pushes", "Changes queued for other connections of the user", pushes.clone());
        Fanout { presence, channel, newest: Newest::default(), steady_interval, clock, pushes }
    }

    fn notify(&self, group: &CommittedGroup, change: &CommittedChange) {
        let CommittedChange { user, origin, gateway, here, elsewhere, .. } = *change;
        let followed = self.channel.has_followers(user, gateway);
        if !(elsewhere || here || followed) {
            return;
        }
        each_push(group, change, |push, steady| {
            let told = UserChange { origin, push, steady };
            if followed {
                self.channel.publish_to_followers(user, &told, gateway);
            }
            if elsewhere {
                self.channel.publish(user, told.clone());
            }
            if here {
                self.leave(user, told);
            }
        });
    }

    /// Leaves a change of this or of another gateway in the inboxes of the user's connections here.
    pub fn leave(&self, user: UserId, told: UserChange) {
        let UserChange { origin, mut push, steady } = told;
        if let Push::Flag(day) = push {
            // Not pushed to the claiming connection, whose next ack has it; a claim over HTTP may have come beside the
            // connection.
            self.presence.one(user, origin, |origin| {
                origin.bring_news(RewardNotice { flag: Some(day), ..RewardNotice::default() })
            });
        }
        let mut lock_user = self.newest.lock_user(user);
        let in_time = keep_newer(&mut lock_user, &mut push);
        let due = steady.then(|| self.clock.instant() + self.steady_interval);
        self.presence.others(user, origin, |other| match &push {
            Push::Record(record) if !in_time => other.push_late_record(record, due),
            _ if !in_time => {}
            push => {
                self.pushes.inc();
                match push {
                    Push::Record(record) => other.push_record(record, due),
                    push => other.push(push.clone()),
                }
            }
        });
    }
}

/// Calls `tell` with each push of a change, and whether the push may wait.
fn each_push(group: &CommittedGroup, change: &CommittedChange, mut tell: impl FnMut(Push, bool)) {
    if let Some(day) = change.flag {
        tell(Push::Flag(day), false);
    }
    match &change.outcome {
        Outcome::Beat { verdict: Verdict::Written { steady, .. }, .. } => {
            let written = group.transitions_of(change).filter(|transition| transition.cause == Cause::Beat);
            let records = written.filter_map(|transition| transition.after.clone());
            records.for_each(|record| tell(Push::Record(record), *steady));
        }
        Outcome::Deleted { moved, at } if !moved.is_empty() => {
            tell(Push::Deleted { contents: moved.clone(), at: *at }, false);
        }
        Outcome::Cleared { moved: true, at } => tell(Push::Cleared { at: *at }, false),
        Outcome::Erased { moved: true, at, resumed } => {
            tell(Push::Cleared { at: *at }, false);
            if *resumed {
                tell(Push::Recording { paused: false }, false);
            }
        }
        Outcome::Recording { changed: true, paused } => tell(Push::Recording { paused: *paused }, false),
        _ => {}
    }
}

/// Removes contents of which something newer was pushed before; false if none is left.
fn keep_newer(lock_user: &mut NewestGuard<'_>, push: &mut Push) -> bool {
    // A change newer than a forgetting has a greater version, and a covered one has a smaller version, except after a
    // thousand beats in one millisecond.
    match push {
        Push::Record(record) => return lock_user.passes(record.content, record.version),
        Push::Deleted { contents, at } => {
            let version = Version::last_of(*at);
            contents.retain(|content| lock_user.passes(*content, version));
            return !contents.is_empty();
        }
        // A clear covers changes by its `at`.
        Push::Cleared { at } => lock_user.cleared(Version::last_of(*at)),
        Push::Recording { .. } | Push::Flag(_) => {}
    }
    true
}

impl CommitListener for Fanout {
    fn name(&self) -> &'static str {
        "fanout"
    }

    fn committed(&self, group: &CommittedGroup) {
        for change in &group.changes {
            if matches!(change.outcome, Outcome::Erased { moved: true, .. }) {
                // Other gateways remember users who are not connected to them. Not awaited: see `peer_messages`.
                drop(self.channel.announce(Announcement::Erased(change.user)));
            }
            self.notify(group, change);
        }
    }
}

#[cfg(test)]
#[path = "fanout_tests.rs"]
mod tests;
