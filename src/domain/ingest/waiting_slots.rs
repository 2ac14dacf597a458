//! Slots and orders that wait for the next group, and steady beats that wait for later ones of their session, so that
//! one commit keeps several (`store.steady_hold`).
//!
//! A *held* slot is kept apart from the others until it is *released*: at the end of its hold, by a read of its user,
//! by a change of the user's records, or by any other entry of its connection. Then it waits for a group like any
//! other.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use super::coalesce::{Entry, Slot, Slots};
use crate::devices::inbox::Inbox;
use model::beat::Beat;
use model::change::{Action, Outcome};
use model::ids::{ConnectionId, Content, SessionId};
use model::rule::Verdict;

/// All waiting entries of one submit queue, and what each of its connections plays.
#[derive(Debug, Default)]
pub struct WaitingSlots {
    /// Entries for the next groups, without held slots.
    pub slots: Slots,
    senders: HashMap<ConnectionId, Sender>,
    /// When each hold ends.
    ends: BTreeSet<(Instant, ConnectionId)>,
    /// The number of beats in all held slots.
    held_weight: usize,
}

/// A connection that has unanswered slots, or whose next beat may be held.
#[derive(Debug, Default)]
struct Sender {
    /// Slots that wait for a group or are in one.
    unanswered: u32,
    /// The content and session of its newest beat, which the stored record plays, too, once all slots are answered.
    /// `None`: the next beat is not held.
    playing: Option<(Content, SessionId)>,
    /// [Changes of the user](Inbox::user_changes) up to that beat, itself included.
    changes: u32,
    /// Whether the oldest of its unanswered slots was held.
    was_held: bool,
    held: Option<Box<Held>>,
}

#[derive(Debug)]
struct Held {
    slot: Slot,
    until: Instant,
}

impl WaitingSlots {
    /// Adds a slot, after the one that its connection holds. False: it joined another slot.
    pub fn add(&mut self, slot: Slot) -> bool {
        self.release(slot.inbox.id);
        self.slots.add(slot)
    }

    /// Adds an order, after the slot that its connection holds.
    pub fn order(&mut self, inbox: Arc<Inbox>, action: Action) {
        self.release(inbox.id);
        self.slots.order(inbox, action);
    }

    /// Whether the beat of this slot is steady, and can be held: the stored record plays, of the same session, and
    /// nothing else of the user has changed since.
    pub fn may_hold(&self, slot: &Slot) -> bool {
        self.senders.get(&slot.inbox.id).is_some_and(|sender| sender.may_hold(slot))
    }

    /// Holds a slot of one beat that it [may hold](Self::may_hold), or joins the beat to the held slot. Returns the
    /// number of opened slots.
    pub fn hold(&mut self, slot: Slot, until: Instant) -> usize {
        self.held_weight += 1;
        let id = slot.inbox.id;
        let sender = self.senders.entry(id).or_default();
        if let Some(held) = &mut sender.held {
            held.slot.join(slot);
            return 0;
        }
        sender.held = Some(Box::new(Held { slot, until }));
        self.ends.insert((until, id));
        1
    }

    /// Takes note of the slots that a frame opened, other than held ones. `beat`: the only beat of the frame, if it
    /// might have been held.
    pub fn submitted(&mut self, inbox: &Inbox, opened: usize, beat: Option<Beat>) {
        let sender = self.senders.entry(inbox.id).or_default();
        let beat = beat.filter(|beat| opened == 1 && sender.unanswered == 0 && beat.playback().is_playing());
        sender.playing = beat.map(|beat| (beat.content, beat.session));
        sender.unanswered += opened as u32;
        sender.changes = inbox.user_changes();
        self.forget_idle(inbox.id);
    }

    /// Ends the hold of the connection, if there is one.
    pub fn release(&mut self, connection: ConnectionId) {
        let Some(sender) = self.senders.get_mut(&connection) else { return };
        let Some(held) = sender.held.take() else { return };
        let Held { mut slot, until } = *held;
        self.ends.remove(&(until, connection));
        self.held_weight -= slot.beats();
        slot.opened = Instant::now();
        sender.unanswered += 1;
        sender.was_held = true;
        sender.changes = slot.inbox.user_changes();
        self.slots.add(slot);
    }

    /// When the next hold ends.
    pub fn next_end(&self) -> Option<Instant> {
        self.ends.first().map(|(until, _)| *until)
    }

    /// Moves the oldest entries, at most `max`, to `group`, those included whose hold has ended. Returns their weight.
    pub fn take_into(&mut self, group: &mut Vec<Entry>, max: usize, now: Instant) -> usize {
        while let Some((_, connection)) = self.ends.first().copied().filter(|(until, _)| *until <= now) {
            self.release(connection);
        }
        self.slots.take_into(group, max)
    }

    /// Takes note that a slot of the connection is answered. Returns whether it was held.
    pub fn answered(&mut self, connection: ConnectionId, outcome: &Outcome) -> bool {
        let Some(sender) = self.senders.get_mut(&connection) else { return false };
        sender.unanswered -= 1;
        match outcome {
            Outcome::Beat { verdict: Verdict::Written { .. } | Verdict::Same, skipped: 0 } => {
                sender.changes = sender.changes.wrapping_add(u32::from(outcome.is_change()));
            }
            _ => sender.playing = None,
        }
        let was_held = std::mem::take(&mut sender.was_held);
        self.forget_idle(connection);
        was_held
    }

    /// Removes a connection that has ended, with its hold.
    pub fn leave(&mut self, connection: ConnectionId) {
        self.release(connection);
        if let Some(sender) = self.senders.get_mut(&connection) {
            sender.playing = None;
        }
        self.forget_idle(connection);
    }

    /// Beats of held slots.
    pub fn held_weight(&self) -> usize {
        self.held_weight
    }

    #[cfg(test)]
    pub fn knows_senders(&self) -> bool {
        !self.senders.is_empty() || !self.ends.is_empty()
    }

    fn forget_idle(&mut self, connection: ConnectionId) {
        let is_idle = |sender: &Sender| sender.unanswered == 0 && sender.playing.is_none() && sender.held.is_none();
        if self.senders.get(&connection).is_some_and(is_idle) {
            self.senders.remove(&connection);
        }
    }
}

impl Sender {
    fn may_hold(&self, slot: &Slot) -> bool {
        slot.beat.playback().is_playing()
            && self.playing == Some((slot.beat.content, slot.beat.session))
            && self.unanswered == 0
            && self.changes == slot.inbox.user_changes()
            && self.held.as_ref().is_none_or(|held| held.slot.takes(slot))
    }
}
