//! What is said on one authenticated socket: numbers, acks, operations in their order. No I/O.
//!
//! Operations take effect in the order of their `seq`. Beats stream into slots; any other operation waits until the beats
//! before it are committed, and while it does nothing more is read. So a read sees every earlier frame, and what a
//! connection has waiting is bounded by its slots and one frame. Only a list that waits for its turn lets beats pass, and
//! may show them.

mod beats;
mod deferred_frame;
mod long_frame;
mod operation;
mod order;
mod read;
mod renewal;
mod replies;
mod requests;
mod token_expiry;
mod unacked_frames;

use std::sync::Arc;
use std::time::{Duration, Instant};

use deferred_frame::DeferredFrame;
use long_frame::LongFrame;
use order::Order;
use read::Read;
use renewal::capped;
use replies::Replies;
use token_expiry::TokenExpiry;
use unacked_frames::UnackedFrames;

use super::close::CloseReason;
use crate::domain::devices::inbox::Inbox;
use crate::domain::devices::presence::Registration;
use crate::domain::ingest::intake::Intake;
use crate::domain::ingest::lanes::Lane;
use crate::domain::ingest::submit_queue::{LargeFramePermit, SubmitQueue};
use crate::domain::rewards::decisions::Decisions;
use crate::edge::auth::token::Identity;
use crate::edge::context::ConnectionContext;
use crate::edge::protocol::frame::{Answer, ClientFrame, DecodeError, ErrorCode, Hello, Operation, ServerFrame};
use crate::edge::protocol::json;
use crate::model::ids::{ConnectionId, UserId};
use crate::model::push::Push;
use crate::model::rewards::day::Day;

/// Invalid frames in a row before the socket is closed.
pub const STRIKES_MAX: u8 = 3;
/// How long an operation may wait for the commits before it, and again for its own.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(5);

pub struct Conversation {
    context: Arc<ConnectionContext>,
    registration: Registration,
    lane: Lane,
    device: Arc<str>,
    /// How late steady beats may be acked.
    ack_delay: Duration,
    lease: TokenExpiry,
    /// The last number that was used; 0 = none.
    seq: u32,
    strikes: u8,
    beats: UnackedFrames,
    decisions: Decisions,
    /// A frame that cannot be started yet.
    held: Option<Box<DeferredFrame>>,
    long: LongFrame,
    read: Option<Box<Read>>,
    order: Option<Box<Order>>,
    replies: Replies,
    next_push: Option<Instant>,
    /// The socket is about to go.
    hurries: bool,
    ending: Option<Ending>,
}

#[derive(Clone, Copy)]
enum Ending {
    /// When all that was read is answered.
    Later(CloseReason),
    Now(CloseReason),
}

impl Conversation {
    pub fn new(
        context: Arc<ConnectionContext>,
        registration: Registration,
        identity: &Identity,
        hello: Hello,
        seq: u32,
        flag: Option<Day>,
    ) -> Self {
        let now = Instant::now();
        let ack_delay = capped(hello.ack_delay.unwrap_or(0), &context);
        Conversation {
            lane: context.lanes.of(registration.inbox().user),
            context,
            registration,
            device: hello.device.unwrap_or_default().into(),
            ack_delay,
            lease: TokenExpiry::of(identity, now),
            seq,
            strikes: 0,
            beats: UnackedFrames::default(),
            decisions: Decisions::new(flag),
            held: None,
            long: LongFrame::default(),
            read: None,
            order: None,
            replies: Replies::default(),
            next_push: None,
            hurries: false,
            ending: (seq == u32::MAX).then_some(Ending::Later(CloseReason::OutOfNumbers)),
        }
    }

    pub fn user(&self) -> UserId {
        self.inbox().user
    }

    pub fn connection(&self) -> ConnectionId {
        self.inbox().id
    }

    /// As the client named it in its hello; empty when it did not.
    pub fn device(&self) -> &str {
        &self.device
    }

    pub fn intake(&self) -> &Intake {
        self.context.lanes.intake(self.lane)
    }

    fn inbox(&self) -> &Arc<Inbox> {
        self.registration.inbox()
    }

    /// Takes one message in; a long one when it is its turn.
    pub fn hear(&mut self, text: &str, now: Instant) {
        if text.len() < SubmitQueue::LONG_FRAME_BYTES {
            return self.take_in(text, now + OPERATION_TIMEOUT, now);
        }
        match self.intake().submit_queue.try_large_frame_permit() {
            Some(permit) => self.take_in_long(text, permit, now),
            None => self.long.wait(text.to_owned(), Some(now + OPERATION_TIMEOUT)),
        }
    }

    /// Takes in the long message that has waited for it.
    pub fn grant_large_frame(&mut self, permit: LargeFramePermit, now: Instant) {
        if let Some(text) = self.long.take() {
            self.take_in_long(&text, permit, now);
        }
    }

    fn take_in_long(&mut self, text: &str, permit: LargeFramePermit, now: Instant) {
        self.take_in(text, now + OPERATION_TIMEOUT, now);
        self.long.go(permit);
        self.end_turn();
    }

    /// Beats wait for their turn for as long as it takes, and any other frame no longer than for something else.
    fn start_late(&mut self, text: String, now: Instant) {
        match json::decode(&text, &self.context.frame_limits()) {
            Ok(ClientFrame { operation: Operation::Beats(_), .. }) => self.long.wait(text, None),
            _ => self.take_in(&text, now, now),
        }
    }

    /// Nothing more is read before the end of a turn, so it ends with the next commit.
    fn end_turn(&mut self) {
        // What waits behind a list waits for long, and must not keep others from their turn.
        let waits_for_turn = self.held.is_some() && self.read.is_none();
        if !waits_for_turn && self.beats.frames.slots() == 0 {
            self.long.end();
        }
    }

    fn take_in(&mut self, text: &str, deadline: Instant, now: Instant) {
        match json::decode(text, &self.context.frame_limits()) {
            Ok(frame) => match self.use_up(frame.seq) {
                Ok(()) => self.try_to_start(frame, deadline, now),
                Err(message) => self.fail(Some(frame.seq), ErrorCode::Invalid, message),
            },
            Err(DecodeError { seq, code, message, .. }) => match seq.map_or(Ok(()), |seq| self.use_up(seq)) {
                Ok(()) => self.fail(seq, code, message),
                Err(message) => self.fail(seq, ErrorCode::Invalid, message),
            },
        }
        if self.seq == u32::MAX {
            self.end_later(CloseReason::OutOfNumbers);
        }
    }

    /// Looks at what happened meanwhile: the inbox, the deadlines, whether the held frame can start.
    pub fn advance(&mut self, now: Instant) {
        let batch = self.inbox().take(now);
        self.beats.frames.answered(batch.slots);
        self.beats.rejected.extend(batch.rejected);
        if let Some(close_request) = batch.close_request {
            self.ending = Some(Ending::Now(close_request.into()));
        }
        for push in batch.pushes {
            if let Push::Flag(day) = push {
                self.decisions.decided_user(day);
            }
            self.replies.add([ServerFrame::Push(push)]);
        }
        self.next_push = batch.next_push;
        let claims = batch.news.map(|news| self.learn(*news)).unwrap_or_default();
        let due = self.beats.due.is_none_or(|due| now >= due);
        if batch.urgent || due || !self.beats.rejected.is_empty() || self.busy() || self.ending.is_some() {
            self.say_acks(now);
        }
        self.replies.add(claims.into_iter().map(ServerFrame::Reward));
        if let Some(outcome) = batch.order {
            self.ordered(&outcome);
        }
        if let Some(text) = self.long.take_late(now) {
            self.start_late(text, now);
        }
        if let Some(held) = self.held.take() {
            self.try_to_start(held.frame, held.deadline, now);
        }
        self.check_deadlines(now);
        self.end_turn();
        self.be_patient();
    }

    /// Gives up the turn of a long frame while the client does not read, so that other connections get theirs.
    pub fn give_way(&mut self) {
        self.long.end();
    }

    /// Whether the end of the token ends it now. `all_read`: nothing more is there to be read.
    pub fn expires(&mut self, now: Instant, all_read: bool) -> bool {
        let over = self.listens() && self.lease.is_over(now, all_read);
        if over {
            self.end_later(CloseReason::Expired);
        }
        over
    }

    /// From now on nothing is acked late, and no list waits for its turn.
    pub fn hurry(&mut self) {
        self.hurries = true;
        self.forsake_waiting_list();
        self.ack_delay = Duration::ZERO;
        self.beats.due = None;
    }

    /// Takes what is to be said next.
    pub fn say(&mut self) -> Option<ServerFrame> {
        self.replies.next()
    }

    pub fn has_to_say(&self) -> bool {
        !self.replies.is_empty()
    }

    /// Whether another message may be read.
    pub fn listens(&self) -> bool {
        !self.busy() && self.ending.is_none()
    }

    /// Whether all that was read is answered.
    pub fn idle(&self) -> bool {
        !self.busy() && self.read.is_none() && self.beats.frames.slots() == 0
    }

    /// Whether an operation is under way that what comes after it must wait for. Beats go on while a list waits for its
    /// turn.
    fn busy(&self) -> bool {
        let reads = self.read.as_ref().is_some_and(|read| !read.waits());
        self.held.is_some() || self.long.is_there() || reads || self.order_awaited_until().is_some()
    }

    fn order_awaited_until(&self) -> Option<Instant> {
        self.order.as_ref().and_then(|order| order.awaited_until())
    }

    /// Whether it waits for room in the submit queue.
    pub fn waits_for_room(&self) -> bool {
        self.held.as_ref().is_some_and(|held| !held.has_deadline())
    }

    /// Whether it waits for the turn of a long frame.
    pub fn waits_for_permit(&self) -> bool {
        self.long.waits()
    }

    /// Whether a read is under way, or a list waits for its turn.
    pub fn has_read(&self) -> bool {
        self.read.is_some()
    }

    /// Why the socket is to be closed, once it is.
    pub fn ended(&self) -> Option<CloseReason> {
        match self.ending? {
            Ending::Now(reason) => Some(reason),
            Ending::Later(reason) => self.idle().then_some(reason),
        }
    }

    /// When to [advance](Self::advance) though nothing happened, if at all.
    pub fn next_deadline(&self) -> Option<Instant> {
        let held = self.held.as_ref().filter(|held| held.has_deadline() && self.read.is_none());
        let held = held.map(|held| held.deadline);
        let order = self.order_awaited_until();
        let expiry = self.listens().then(|| self.lease.ends());
        [held, order, expiry, self.long.waits_until(), self.next_push, self.beats.due].into_iter().flatten().min()
    }

    /// Whatever is under way is cut off: the other side is gone or has broken the rules.
    pub fn end_now(&mut self, reason: CloseReason) {
        self.ending = Some(Ending::Now(reason));
    }

    fn end_later(&mut self, reason: CloseReason) {
        self.ending.get_or_insert(Ending::Later(reason));
        self.forsake_waiting_list();
    }

    fn use_up(&mut self, seq: u32) -> Result<(), String> {
        if seq <= self.seq {
            return Err(format!("seq: must be greater than {}", self.seq));
        }
        self.seq = seq;
        Ok(())
    }

    /// Starts the frame, or holds it until what is before it is done.
    fn try_to_start(&mut self, frame: ClientFrame, deadline: Instant, now: Instant) {
        let ready = match &frame.operation {
            Operation::Beats(beats) => {
                let slots = self.beats.frames.slots();
                let fits = slots + beats.items.len() <= self.context.limits.uncommitted_slots;
                (fits || slots == 0) && self.intake().submit_queue.has_room()
            }
            Operation::Hello(_) | Operation::Token { .. } => true,
            _ => self.beats.frames.slots() == 0 && self.read.is_none(),
        };
        if !ready {
            self.held = Some(Box::new(DeferredFrame { frame, deadline }));
            return;
        }
        let seq = frame.seq;
        match frame.operation {
            Operation::Beats(beats) => self.take_beats(seq, &beats, now),
            Operation::Hello(hello) => self.hello(seq, hello, now),
            Operation::Token { token } => self.token(seq, token.expose(), now),
            operation => self.request(seq, operation, now),
        }
    }

    fn succeed(&mut self, seq: u32, answer: Answer) {
        self.strikes = 0;
        self.replies.success(seq, answer);
    }

    fn fail(&mut self, seq: Option<u32>, code: ErrorCode, message: String) {
        if matches!(code, ErrorCode::Invalid | ErrorCode::TooMany) {
            self.strikes += 1;
        }
        self.replies.failure(seq, code, message);
        if self.strikes >= STRIKES_MAX {
            self.end_later(CloseReason::Invalid);
        }
    }
}
