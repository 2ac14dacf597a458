//! What is said on one authenticated socket: numbers, acks, operations in their order. No I/O.
//!
//! Operations take effect in the order of their `seq`. Beats stream into slots; any other operation waits until the beats
//! before it are committed, and while it does nothing more is read. So a read sees every earlier frame, and what a
//! connection has waiting is bounded by its slots and one frame.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;

use super::close::CloseReason;
use super::held::Held;
use super::lease::Lease;
use super::long_frame::LongFrame;
use super::operation::Request;
use super::order::Order;
use super::replies::Replies;
use super::unanswered::Unanswered;
use crate::domain::clock;
use crate::domain::devices::mailbox::Mailbox;
use crate::domain::devices::presence::Registration;
use crate::domain::history::Unavailable;
use crate::domain::ingest::lane::{Lane, Turn};
use crate::domain::ingest::source::Source;
use crate::domain::rewards::decisions::Decisions;
use crate::domain::rewards::news::News;
use crate::edge::auth::token::Identity;
use crate::edge::desk::Desk;
use crate::edge::protocol::frame::{Answer, Beats, ClientFrame, ErrorCode, Hello, Malformed, Operation, ServerFrame};
use crate::edge::protocol::json;
use crate::model::change::Outcome;
use crate::model::ids::UserId;
use crate::model::push::Push;
use crate::model::rewards::claim::ClaimKey;
use crate::model::rewards::day::Day;

/// Invalid frames in a row before the socket is closed.
pub const STRIKES_MAX: u8 = 3;
/// How long an operation may wait for the commits before it, and again for its own.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(5);

pub struct Conversation {
    desk: Arc<Desk>,
    registration: Registration,
    device: Arc<str>,
    /// How late steady beats may be acked.
    ack_delay: Duration,
    lease: Lease,
    /// The last number that was used; 0 = none.
    seq: u32,
    strikes: u8,
    beats: Unanswered,
    decisions: Decisions,
    /// A frame that cannot be started yet.
    held: Option<Box<Held>>,
    long: LongFrame,
    read: Option<BoxFuture<'static, (u32, Result<Answer, Unavailable>)>>,
    order: Option<Box<Order>>,
    replies: Replies,
    next_push: Option<Instant>,
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
        desk: Arc<Desk>,
        registration: Registration,
        identity: &Identity,
        hello: Hello,
        seq: u32,
        flag: Option<Day>,
    ) -> Self {
        let now = Instant::now();
        let ack_delay = capped(hello.ack_delay.unwrap_or(0), &desk);
        Conversation {
            desk,
            registration,
            device: hello.device.unwrap_or_default().into(),
            ack_delay,
            lease: Lease::of(identity, now),
            seq,
            strikes: 0,
            beats: Unanswered::default(),
            decisions: Decisions::new(flag),
            held: None,
            long: LongFrame::default(),
            read: None,
            order: None,
            replies: Replies::default(),
            next_push: None,
            ending: (seq == u32::MAX).then_some(Ending::Later(CloseReason::OutOfNumbers)),
        }
    }

    pub fn user(&self) -> UserId {
        self.mailbox().user
    }

    fn mailbox(&self) -> &Arc<Mailbox> {
        self.registration.mailbox()
    }

    /// Takes one message in; a long one when it is its turn.
    pub fn hear(&mut self, text: &str, now: Instant) {
        if text.len() < Lane::LONG_FRAME_BYTES {
            return self.take_in(text, now + OPERATION_TIMEOUT, now);
        }
        match self.desk.intake.lane.try_turn() {
            Some(turn) => self.take_in_long(text, turn, now),
            None => self.long.wait(text.to_owned(), Some(now + OPERATION_TIMEOUT)),
        }
    }

    /// Takes in the long message that has waited for it.
    pub fn has_turn(&mut self, turn: Turn, now: Instant) {
        if let Some(text) = self.long.take() {
            self.take_in_long(&text, turn, now);
        }
    }

    fn take_in_long(&mut self, text: &str, turn: Turn, now: Instant) {
        self.take_in(text, now + OPERATION_TIMEOUT, now);
        self.long.go(turn);
        self.end_turn();
    }

    /// Beats wait for their turn for as long as it takes, and any other frame no longer than for something else.
    fn start_late(&mut self, text: String, now: Instant) {
        match json::decode(&text, &self.desk.frame_limits()) {
            Ok(ClientFrame { operation: Operation::Beats(_), .. }) => self.long.wait(text, None),
            _ => self.take_in(&text, now, now),
        }
    }

    /// Nothing more is read before the end of a turn, so it ends with the next commit.
    fn end_turn(&mut self) {
        if self.held.is_none() && self.beats.frames.slots() == 0 {
            self.long.end();
        }
    }

    fn take_in(&mut self, text: &str, deadline: Instant, now: Instant) {
        match json::decode(text, &self.desk.frame_limits()) {
            Ok(frame) => match self.use_up(frame.seq) {
                Ok(()) => self.try_to_start(frame, deadline, now),
                Err(message) => self.fail(Some(frame.seq), ErrorCode::Invalid, message),
            },
            Err(Malformed { seq, code, message, .. }) => match seq.map_or(Ok(()), |seq| self.use_up(seq)) {
                Ok(()) => self.fail(seq, code, message),
                Err(message) => self.fail(seq, ErrorCode::Invalid, message),
            },
        }
        if self.seq == u32::MAX {
            self.end_later(CloseReason::OutOfNumbers);
        }
    }

    /// Looks at what happened meanwhile: the mailbox, the deadlines, whether the held frame can start.
    pub fn turn(&mut self, now: Instant) {
        let letters = self.mailbox().take(now);
        self.beats.frames.answered(letters.slots);
        self.beats.rejected.extend(letters.rejected);
        if let Some(farewell) = letters.farewell {
            self.ending = Some(Ending::Now(farewell.into()));
        }
        for push in letters.pushes {
            if let Push::Flag(day) = push {
                self.decisions.decided_user(day);
            }
            self.replies.add([ServerFrame::Push(push)]);
        }
        self.next_push = letters.next_push;
        let claims = letters.news.map(|news| self.learn(*news)).unwrap_or_default();
        let due = self.beats.due.is_none_or(|due| now >= due);
        if letters.urgent || due || !self.beats.rejected.is_empty() || self.busy() || self.ending.is_some() {
            self.say_acks(now);
        }
        self.replies.add(claims.into_iter().map(ServerFrame::Reward));
        if let Some(outcome) = letters.order {
            self.ordered(&outcome);
        }
        if let Some(text) = self.long.take_late(now) {
            self.start_late(text, now);
        }
        self.check_deadlines(now);
        if let Some(held) = self.held.take() {
            self.try_to_start(held.frame, held.deadline, now);
        }
        self.end_turn();
        self.be_patient();
    }

    /// Whether the end of the token ends it now. `all_read`: nothing more is there to be read.
    pub fn expires(&mut self, now: Instant, all_read: bool) -> bool {
        let over = self.listens() && self.lease.is_over(now, all_read);
        if over {
            self.end_later(CloseReason::Expired);
        }
        over
    }

    /// From now on nothing is acked late.
    pub fn hurry(&mut self) {
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
        !self.busy() && self.beats.frames.slots() == 0
    }

    /// Whether an operation is under way that what comes after it must wait for.
    fn busy(&self) -> bool {
        self.held.is_some() || self.long.is_there() || self.read.is_some() || self.order_awaited_until().is_some()
    }

    fn order_awaited_until(&self) -> Option<Instant> {
        self.order.as_ref().and_then(|order| order.awaited_until())
    }

    /// Whether it waits for room in the lane.
    pub fn waits_for_room(&self) -> bool {
        self.held.as_ref().is_some_and(|held| !held.has_deadline())
    }

    /// Whether it waits for the turn of a long frame.
    pub fn waits_for_turn(&self) -> bool {
        self.long.waits()
    }

    /// The read that is under way.
    pub fn reading(&mut self) -> Option<&mut BoxFuture<'static, (u32, Result<Answer, Unavailable>)>> {
        self.read.as_mut()
    }

    pub fn answered(&mut self, seq: u32, answer: Result<Answer, Unavailable>) {
        self.read = None;
        match answer {
            Ok(answer) => self.succeed(seq, answer),
            Err(Unavailable) => self.replies.unavailable(seq),
        }
    }

    /// Why the socket is to be closed, once it is.
    pub fn ended(&self) -> Option<CloseReason> {
        match self.ending? {
            Ending::Now(reason) => Some(reason),
            Ending::Later(reason) => self.idle().then_some(reason),
        }
    }

    /// When to take a [turn](Self::turn) though nothing happened, if at all.
    pub fn next_deadline(&self) -> Option<Instant> {
        let held = self.held.as_ref().filter(|held| held.has_deadline()).map(|held| held.deadline);
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
                let fits = slots + beats.items.len() <= self.desk.limits.uncommitted_slots;
                (fits || slots == 0) && self.desk.intake.lane.has_room()
            }
            Operation::Hello(_) | Operation::Token { .. } => true,
            _ => self.beats.frames.slots() == 0,
        };
        if !ready {
            self.held = Some(Box::new(Held { frame, deadline }));
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

    fn take_beats(&mut self, seq: u32, beats: &Beats, now: Instant) {
        self.strikes = 0;
        let (mailbox, flag) = (self.registration.mailbox(), beats.flag);
        let source = Source { mailbox, device: &self.device, seq, read: now, flag, decisions: &self.decisions };
        let taken = self.desk.intake.beats(&source, &beats.items);
        self.beats.frames.submitted(seq, taken.slots);
        self.beats.rejected.extend(taken.rejected);
        self.beats.clock = self.beats.clock.max(taken.clock);
        if taken.slots > 0 && !self.ack_delay.is_zero() {
            self.beats.due.get_or_insert(now + self.ack_delay);
        }
        if self.beats.frames.slots() == 0 || !self.beats.rejected.is_empty() {
            self.say_acks(now);
        }
        self.be_patient();
    }

    /// Tells the mailbox when its answers may wait for this conversation's own clock.
    fn be_patient(&mut self) {
        let patient = self.beats.due.is_some() && !self.busy() && self.ending.is_none();
        if patient != self.beats.patient {
            self.beats.patient = patient;
            self.mailbox().be_patient(patient);
        }
    }

    fn say_acks(&mut self, now: Instant) {
        let flag = || self.decisions.flag(self.desk.arrivals.day_at(now));
        self.replies.add(self.beats.ack(flag).map(ServerFrame::Ack));
    }

    /// Takes notice of what was decided; returns what was claimed.
    fn learn(&mut self, news: News) -> Vec<ClaimKey> {
        news.flag.into_iter().for_each(|day| self.decisions.decided_user(day));
        news.contents.into_iter().for_each(|(day, content)| self.decisions.decided_content(day, content));
        news.claims
    }

    fn hello(&mut self, seq: u32, hello: Hello, now: Instant) {
        if hello.token.as_ref().is_some_and(|token| self.renew(token.expose(), now).is_none()) {
            return self.replies.unauthorized(seq, "hello.token");
        }
        if let Some(device) = hello.device {
            self.device = device.into();
        }
        if let Some(delay) = hello.ack_delay {
            self.ack_delay = capped(delay, &self.desk);
            // An ack says all that is before it, so none may wait for longer than the next.
            self.beats.due = self.beats.due.map(|due| due.min(now + self.ack_delay));
        }
        self.succeed(seq, Answer::Done);
    }

    fn token(&mut self, seq: u32, token: &str, now: Instant) {
        match self.renew(token, now) {
            Some(expires) => self.succeed(seq, Answer::Token { expires }),
            None => self.replies.unauthorized(seq, "token.token"),
        }
    }

    /// Takes over the end of a token that is good and of the same user; returns it (milliseconds since 1970).
    fn renew(&mut self, token: &str, now: Instant) -> Option<u64> {
        let identity = self.desk.gate.identify(token).ok()?;
        // What has ended already would be the end of a socket that is well.
        if identity.user != self.mailbox().user || identity.expires_ms <= clock::wall() {
            return None;
        }
        if !self.desk.gate.renew(&self.registration, &identity) {
            self.end_now(CloseReason::Kicked);
            return None;
        }
        self.lease.renew(&identity, now);
        Some(identity.expires_ms)
    }

    fn request(&mut self, seq: u32, operation: Operation, now: Instant) {
        let user = self.mailbox().user;
        match Request::of(operation, user, &self.desk.history) {
            None => {}
            Some(Request::Read(answer)) => self.read = Some(Box::pin(async move { (seq, answer.await) })),
            Some(Request::Order(_)) if self.order.is_some() => self.replies.unavailable(seq),
            Some(Request::Order(action)) => {
                self.order = Some(Box::new(Order::new(seq, &action, now + OPERATION_TIMEOUT)));
                self.desk.intake.order(self.mailbox(), action);
            }
        }
    }

    fn ordered(&mut self, outcome: &Outcome) {
        match self.order.take().and_then(|order| order.answer(outcome)) {
            Some((seq, Ok(answer))) => self.succeed(seq, answer),
            Some((seq, Err(message))) => self.fail(Some(seq), ErrorCode::Invalid, message),
            None => {}
        }
    }

    /// Whoever has waited long enough is told to ask again.
    fn check_deadlines(&mut self, now: Instant) {
        let late = |held: &mut Box<Held>| held.has_deadline() && now >= held.deadline;
        if let Some(held) = self.held.take_if(late) {
            self.replies.unavailable(held.frame.seq);
        }
        if let Some(seq) = self.order.as_mut().and_then(|order| order.forsake(now)) {
            self.replies.unavailable(seq);
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

/// As late as asked (milliseconds), and as the settings allow.
fn capped(ack_delay: u64, desk: &Desk) -> Duration {
    Duration::from_millis(ack_delay).min(desk.limits.ack_delay)
}
