//! The state of a conversation, which decides what may happen next.
//!
//! ```text
//!            list that has to wait             its turn comes
//!     Open ───────────────────────▶ ListWaits ───────────────▶ Busy(Reading)
//!      │ ▲                              │ ▲
//!      │ │ done                         │ │ beats that were held are taken
//!      ▼ │                              ▼ │
//!     Busy(Reading | Ordered | Held)  Busy(Held { list })
//!
//!     Open, ListWaits, Busy ── token over, third strike, last number ──▶ Closing ── all answered ──▶ closes
//!     any                   ── kicked, replaced, too fast, too slow ───▶ Closed ───────────────────▶ closes
//! ```
//!
//! | state | reads on | ends with |
//! |---|---|---|
//! | `Open` | yes | the next frame that is more than beats |
//! | `ListWaits` | yes | the list's turn, or 30 s |
//! | `Reading` | no | the answer, or 3 s; before beats, when the names of their contents are stored |
//! | `Ordered` | no | the commit, or 5 s: then its outcome is dropped when it comes |
//! | `Held`, `Text` | no | the turn of a long frame; what is not beats after 5 s |
//! | `Held`, `Frame` | no | for beats room, for others that all before them is done; these after 5 s |
//! | `Held`, `Committing` | no | the commit of the long frame, or a client that does not read |
//! | `Closing` | no | the answer to all that was read |
//! | `Closed` | no | |
//!
//! A list waits in `ListWaits` and behind a held frame only, and nowhere once the conversation is closing.

use std::time::Instant;

use super::order::Order;
use super::read::Read;
use crate::connection::close::CloseReason;
use crate::protocol::frame::{ClientFrame, Operation};
use domain::ingest::submit_queue::LargeFramePermit;

pub enum State {
    /// Beats may wait for their commit.
    Open,
    /// A list waits for its turn, and lets beats pass.
    ListWaits(Box<Read>),
    Busy(Busy),
    /// Closes when the operation in progress is done and all beats are answered.
    Closing(CloseReason, Option<Busy>),
    /// Closes now. The operation in progress is cancelled.
    Closed(CloseReason),
}

/// The operation that prevents reading the next frame. Boxed, since every connection has room for one and few use it.
pub enum Busy {
    Reading(Box<Read>),
    Ordered(Box<Order>),
    Held(Box<Held>),
}

pub struct Held {
    pub frame: HeldFrame,
    /// A list that was to wait before the frame came, and may have begun meanwhile.
    pub list: Option<Box<Read>>,
}

pub enum HeldFrame {
    /// A long one, which waits until others of the thread are answered. With `until` not for longer.
    Text { text: String, until: Option<Instant> },
    /// A frame that cannot start before earlier frames are done.
    Frame { frame: ClientFrame, deadline: Instant, permit: Option<LargeFramePermit> },
    /// A long one that has its turn until it is committed.
    Committing { _permit: LargeFramePermit },
}

impl State {
    /// Whether another message may be read.
    pub fn listens(&self) -> bool {
        matches!(self, State::Open | State::ListWaits(_))
    }

    /// Whether nothing is under way but beats.
    pub fn is_idle(&self) -> bool {
        matches!(self, State::Open | State::Closing(_, None) | State::Closed(_))
    }

    pub fn is_closing(&self) -> bool {
        matches!(self, State::Closing(..) | State::Closed(_))
    }

    /// A read that is under way, or a list that waits for its turn.
    pub fn read(&self) -> Option<&Read> {
        match self {
            State::ListWaits(read) => Some(read),
            _ => match self.busy()? {
                Busy::Reading(read) => Some(read),
                Busy::Held(held) => held.list.as_deref(),
                Busy::Ordered(_) => None,
            },
        }
    }

    pub fn order(&self) -> Option<&Order> {
        match self.busy()? {
            Busy::Ordered(order) => Some(order),
            Busy::Reading(_) | Busy::Held(_) => None,
        }
    }

    pub fn held(&self) -> Option<&Held> {
        match self.busy()? {
            Busy::Held(held) => Some(held),
            Busy::Reading(_) | Busy::Ordered(_) => None,
        }
    }

    pub fn held_mut(&mut self) -> Option<&mut Held> {
        match self.busy_mut()? {
            Busy::Held(held) => Some(held),
            Busy::Reading(_) | Busy::Ordered(_) => None,
        }
    }

    pub fn read_mut(&mut self) -> Option<&mut Read> {
        if let State::ListWaits(read) = self {
            return Some(read);
        }
        match self.busy_mut()? {
            Busy::Reading(read) => Some(read),
            Busy::Held(held) => held.list.as_deref_mut(),
            Busy::Ordered(_) => None,
        }
    }

    /// An operation begins, for which nothing else was under way.
    pub fn begin(&mut self, busy: Busy) {
        match self {
            State::Closing(_, under_way) => *under_way = Some(busy),
            State::Closed(_) => {}
            State::Open | State::ListWaits(_) | State::Busy(_) => *self = State::Busy(busy),
        }
    }

    /// A list begins to wait, or to read once it has waited.
    pub fn list(&mut self, read: Box<Read>) {
        match self {
            State::Open if read.waits() => *self = State::ListWaits(read),
            _ => self.begin(Busy::Reading(read)),
        }
    }

    /// Keeps a frame back, behind the list if there is one.
    pub fn hold(&mut self, frame: HeldFrame) {
        let list = self.take_read();
        self.begin(Busy::Held(Box::new(Held { frame, list })));
    }

    /// Takes the held frame if `goes` returns true for it. A list that it was held behind stays.
    pub fn take_held(&mut self, goes: impl FnOnce(&Held) -> bool) -> Option<HeldFrame> {
        if !self.held().is_some_and(goes) {
            return None;
        }
        let Some(Busy::Held(held)) = self.take_busy() else { return None };
        let Held { frame, list } = *held;
        if let Some(list) = list {
            self.list(list);
        }
        Some(frame)
    }

    /// Takes the order if `ends` returns true for it.
    pub fn take_order(&mut self, ends: impl FnOnce(&Order) -> bool) -> Option<Order> {
        if !self.order().is_some_and(ends) {
            return None;
        }
        match self.take_busy() {
            Some(Busy::Ordered(order)) => Some(*order),
            _ => None,
        }
    }

    /// Ends the read. A frame that was held behind it may wait until `deadline`.
    pub fn end_read(&mut self, deadline: Instant) {
        self.take_read();
        if let Some(Held { frame: HeldFrame::Frame { deadline: until, .. }, .. }) = self.held_mut() {
            *until = deadline;
        }
    }

    /// The list that has waited reads now.
    pub fn list_begins(&mut self) {
        if let State::ListWaits(_) = self
            && let Some(list) = self.take_read()
        {
            self.begin(Busy::Reading(list));
        }
    }

    /// Closes once all is answered; the first reason stands.
    pub fn close_later(&mut self, reason: CloseReason) {
        match self {
            State::Open | State::ListWaits(_) => *self = State::Closing(reason, None),
            State::Busy(_) => *self = State::Closing(reason, self.take_busy()),
            State::Closing(..) | State::Closed(_) => {}
        }
    }

    fn busy(&self) -> Option<&Busy> {
        match self {
            State::Busy(busy) => Some(busy),
            State::Closing(_, busy) => busy.as_ref(),
            State::Open | State::ListWaits(_) | State::Closed(_) => None,
        }
    }

    fn busy_mut(&mut self) -> Option<&mut Busy> {
        match self {
            State::Busy(busy) => Some(busy),
            State::Closing(_, busy) => busy.as_mut(),
            State::Open | State::ListWaits(_) | State::Closed(_) => None,
        }
    }

    fn take_busy(&mut self) -> Option<Busy> {
        match self {
            State::Closing(_, busy) => busy.take(),
            State::Busy(_) => match std::mem::replace(self, State::Open) {
                State::Busy(busy) => Some(busy),
                _ => None,
            },
            State::Open | State::ListWaits(_) | State::Closed(_) => None,
        }
    }

    fn take_read(&mut self) -> Option<Box<Read>> {
        match self {
            State::ListWaits(_) => match std::mem::replace(self, State::Open) {
                State::ListWaits(read) => Some(read),
                _ => None,
            },
            _ => match self.busy_mut()? {
                Busy::Held(held) => held.list.take(),
                Busy::Ordered(_) => None,
                Busy::Reading(_) => match self.take_busy() {
                    Some(Busy::Reading(read)) => Some(read),
                    _ => None,
                },
            },
        }
    }
}

impl Held {
    /// When a held frame is given up. Beats wait without a deadline, and a frame behind a list as long as the list
    /// does.
    pub fn deadline(&self) -> Option<Instant> {
        match &self.frame {
            HeldFrame::Text { until, .. } => *until,
            HeldFrame::Frame { frame, deadline, .. } => (!is_beats(frame) && self.list.is_none()).then_some(*deadline),
            HeldFrame::Committing { .. } => None,
        }
    }

    /// Whether it waits for the turn of a long frame.
    pub fn waits_for_permit(&self) -> bool {
        matches!(self.frame, HeldFrame::Text { .. })
    }

    /// Whether it may wait for room in the submit queue.
    pub fn waits_for_room(&self) -> bool {
        matches!(&self.frame, HeldFrame::Frame { frame, .. } if is_beats(frame))
    }
}

fn is_beats(frame: &ClientFrame) -> bool {
    matches!(frame.operation, Operation::Beats(_))
}
