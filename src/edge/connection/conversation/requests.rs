//! Operations of a conversation that are answered one by one: reads, lists and orders.

use std::task::{Context, Poll};
use std::time::Instant;

use super::deferred_frame::DeferredFrame;
use super::operation::Request;
use super::order::{Order, Refusal};
use super::read::{Read, WaitingList};
use super::{Conversation, OPERATION_TIMEOUT};
use crate::domain::store_reads::Unavailable;
use crate::edge::protocol::frame::{ErrorCode, Operation};
use crate::model::change::Outcome;
use crate::model::page::PageRequest;

impl Conversation {
    pub(super) fn request(&mut self, seq: u32, operation: Operation, now: Instant) {
        let user = self.inbox().user;
        match Request::of(operation, user, &self.context.history) {
            None => {}
            Some(Request::Read(answer)) => self.read = Some(Read::new(seq, answer)),
            Some(Request::List(request)) => self.list(seq, request, now),
            Some(Request::Order(_)) if self.order.is_some() => self.replies.unavailable(seq),
            Some(Request::Order(action)) => {
                self.order = Some(Box::new(Order::new(seq, &action, now + OPERATION_TIMEOUT)));
                self.intake().order(self.inbox(), action);
            }
        }
    }

    fn list(&mut self, seq: u32, request: PageRequest, now: Instant) {
        let (user, lists) = (self.inbox().user, &self.context.lists);
        let list = WaitingList { history: self.context.history.clone(), user, request };
        match lists.try_acquire(user, now) {
            Ok(permit) => self.read = Some(Read::list(seq, &list, permit)),
            Err(_) if self.hurries || self.ending.is_some() => self.replies.unavailable(seq),
            Err(_) => self.read = Some(Read::waiting(seq, list, Box::pin(lists.clone().acquire(user)))),
        }
    }

    pub(super) fn ordered(&mut self, outcome: &Outcome) {
        match self.order.take().and_then(|order| order.answer(outcome)) {
            Some((seq, Ok(answer))) => self.succeed(seq, answer),
            Some((seq, Err(Refusal::Invalid(message)))) => self.fail(Some(seq), ErrorCode::Invalid, message),
            Some((seq, Err(Refusal::Unavailable))) => self.replies.unavailable(seq),
            None => {}
        }
    }

    /// An operation that has waited long enough is answered `unavailable`.
    pub(super) fn check_deadlines(&mut self, now: Instant) {
        let read = self.read.is_some();
        let late = |held: &mut Box<DeferredFrame>| held.has_deadline() && !read && now >= held.deadline;
        if let Some(held) = self.held.take_if(late) {
            self.replies.unavailable(held.frame.seq);
        }
        if let Some(seq) = self.order.as_mut().and_then(|order| order.forsake(now)) {
            self.replies.unavailable(seq);
        }
    }

    /// Goes on with the read. Whether something has changed: it has begun, or it is answered.
    pub fn poll_read(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(read) = &mut self.read else { return false };
        let (seq, waited) = (read.seq, read.waits());
        let Poll::Ready(answer) = read.poll(cx) else { return waited && !read.waits() };
        self.read = None;
        self.held.iter_mut().for_each(|held| held.deadline = Instant::now() + OPERATION_TIMEOUT);
        match answer {
            Ok(answer) => self.succeed(seq, answer),
            Err(Unavailable) => self.replies.unavailable(seq),
        }
        true
    }

    /// The end of a socket waits for what it reads, but not for the turn of a list.
    pub(super) fn forsake_waiting_list(&mut self) {
        if let Some(read) = self.read.take_if(|read| read.waits()) {
            self.replies.unavailable(read.seq);
            self.held.iter_mut().for_each(|held| held.deadline = Instant::now() + OPERATION_TIMEOUT);
        }
    }
}
