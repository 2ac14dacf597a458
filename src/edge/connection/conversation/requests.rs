//! Operations of a conversation that are answered one by one: reads, lists and orders.

use std::task::{Context, Poll};
use std::time::Instant;

use super::operation::Request;
use super::order::{Order, Refusal};
use super::read::{Done, Read, WaitingList};
use super::state::Busy;
use super::{Conversation, OPERATION_TIMEOUT};
use crate::protocol::frame::{ErrorCode, Operation};
use domain::store_reads::Unavailable;
use model::change::Outcome;
use model::page::ListRequest;

impl Conversation {
    pub(super) fn request(&mut self, seq: u32, operation: Operation, now: Instant) {
        let user = self.inbox().user;
        match Request::of(operation, user, &self.context.history) {
            None => {}
            Some(Request::Read(answer)) => self.state.begin(Busy::Reading(Read::new(seq, answer))),
            Some(Request::List(request)) => self.list(seq, request, now),
            Some(Request::Order(_)) if self.outcome_is_late => self.replies.unavailable(seq),
            Some(Request::Order(action)) => {
                let order = Order::new(seq, &action, now + OPERATION_TIMEOUT);
                self.state.begin(Busy::Ordered(Box::new(order)));
                self.intake().order(self.inbox(), action);
            }
        }
    }

    fn list(&mut self, seq: u32, request: ListRequest, now: Instant) {
        let (user, lists) = (self.inbox().user, &self.context.lists);
        let list = WaitingList { history: self.context.history.clone(), user, request };
        match lists.try_acquire(user, now) {
            Ok(permit) => self.state.list(Read::list(seq, &list, permit)),
            Err(_) if self.hurries() => self.replies.unavailable(seq),
            Err(_) => self.state.list(Read::waiting(seq, list, Box::pin(lists.clone().acquire(user)))),
        }
    }

    pub(super) fn ordered(&mut self, outcome: &Outcome, now: Instant) {
        if std::mem::take(&mut self.outcome_is_late) {
            return;
        }
        let Some(order) = self.state.take_order(|_| true) else { return };
        let seq = order.seq;
        match order.answer(outcome) {
            Ok(answer) => self.succeed(seq, answer),
            Err(Refusal::Invalid(message)) => self.fail(Some(seq), ErrorCode::Invalid, message, now),
            Err(Refusal::Unavailable) => self.replies.unavailable(seq),
        }
    }

    /// Goes on with the read. Whether something has changed: it has begun, or it is answered.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        let has_names = self.replies.poll(cx);
        let Some(read) = self.state.read_mut() else { return has_names };
        let (seq, waited) = (read.seq, read.waits());
        let Poll::Ready(done) = read.poll(cx) else {
            let begins = waited && !read.waits();
            if begins {
                self.state.list_begins();
            }
            return begins || has_names;
        };
        self.state.end_read(now + OPERATION_TIMEOUT);
        match done {
            Done::Answer(Ok(answer)) => self.succeed(seq, answer),
            Done::Answer(Err(Unavailable)) => self.replies.unavailable(seq),
            Done::Prepared(frame) => self.start_prepared(*frame, now),
        }
        true
    }

    /// The end of a socket waits for what it reads, but not for the turn of a list.
    pub(super) fn cancel_waiting_list(&mut self, now: Instant) {
        if let Some(list) = self.state.read().filter(|read| read.waits()) {
            self.replies.unavailable(list.seq);
            self.state.end_read(now + OPERATION_TIMEOUT);
        }
    }
}
