//! The protocol on one authenticated socket: sequence numbers, acks, and operations in order. No I/O.
//!
//! Operations take effect in the order of their `seq`. Beats stream into slots. Any other operation waits until the
//! beats before it are committed, and no further frame is read meanwhile. So a read sees every earlier frame, and a
//! connection has no more waiting than its slots and one frame. Only a list that waits for its turn lets beats pass,
//! and may show them.

mod ack_delay;
mod beats;
mod content_names;
mod frames;
mod held;
mod operation;
mod order;
mod read;
mod renewal;
mod replies;
mod requests;
mod state;
mod token_expiry;
mod unacked_frames;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ack_delay::AckDelay;
use replies::Replies;
use state::{Held, State};
use token_expiry::TokenExpiry;
use unacked_frames::UnackedFrames;

use super::close::CloseReason;
use crate::auth::User;
use crate::auth::token::Identity;
use crate::context::ConnectionContext;
use crate::protocol::frame::{Answer, ErrorCode, Hello, ServerFrame};
use domain::devices::inbox::Inbox;
use domain::devices::presence::Registration;
use domain::ingest::intake::Intake;
use domain::ingest::lanes::Lane;
use domain::rewards::decisions::Decisions;
use model::content_name::ContentTexts;
use model::ids::{ConnectionId, UserId};
use model::push::Push;
use model::rewards::day::Day;
use model::user_name::UserName;

/// Invalid frames in a row before the socket is closed.
pub const STRIKES_MAX: u8 = 3;
/// Everything of the user was forgotten, maybe by an erasure: it has dropped the text of the name after this time, and
/// gateways no longer remember it.
const NAME_DROPPED_WITHIN: Duration = Duration::from_secs(30);
/// How long an operation may wait for the commits before it, and again for its own.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(5);

/// The name of the connection's user.
struct OwnName {
    name: UserName,
    /// Until then beats have the text of the name written again: an erasure may have dropped it.
    dropped: Option<Instant>,
}

/// How a conversation begins.
pub struct Asked {
    pub hello: Hello,
    /// The number of the hello; 0 when the upgrade carried the token.
    pub seq: u32,
    /// The day on which all is decided for the user.
    pub flag: Option<Day>,
}

pub struct Conversation {
    context: Arc<ConnectionContext>,
    registration: Registration,
    /// Where users are named by texts. Boxed, since every idle connection keeps one of these.
    name: Option<Box<OwnName>>,
    lane: Lane,
    device: Arc<str>,
    /// How late steady beats may be acked. `None`: the socket is about to close, so acks are immediate and no list
    /// waits.
    ack_delay: Option<AckDelay>,
    token_expiry: TokenExpiry,
    /// The last number that was used; 0 = none.
    seq: u32,
    strikes: u8,
    /// Whether an order was answered `unavailable` and its outcome is still to come. It will be dropped, and no other
    /// order is taken before.
    outcome_is_late: bool,
    beats: UnackedFrames,
    decisions: Decisions,
    state: State,
    replies: Replies,
    next_push: Option<Instant>,
}

impl Conversation {
    pub fn new(
        context: Arc<ConnectionContext>,
        registration: Registration,
        (identity, user): (&Identity, User),
        Asked { hello, seq, flag }: Asked,
        now: Instant,
    ) -> Self {
        let ack_delay = AckDelay::capped(hello.ack_delay.unwrap_or(0), context.limits.ack_delay);
        Conversation {
            lane: context.lanes.of(registration.inbox().user),
            registration,
            name: user.name.map(|name| Box::new(OwnName { name, dropped: None })),
            device: hello.device.unwrap_or_default().into(),
            ack_delay: Some(ack_delay),
            token_expiry: TokenExpiry::of(identity, now, context.clock.wall()),
            context,
            seq,
            strikes: 0,
            outcome_is_late: false,
            beats: UnackedFrames::default(),
            decisions: Decisions::new(flag),
            state: match seq {
                u32::MAX => State::Closing(CloseReason::OutOfNumbers, None),
                _ => State::Open,
            },
            replies: Replies::default(),
            next_push: None,
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

    /// Whether the client has sent a frame.
    pub fn has_received(&self) -> bool {
        self.seq > 0
    }

    pub fn intake(&self) -> &Intake {
        self.context.lanes.intake(self.lane)
    }

    /// Its user, as its token names one.
    fn whose(&self) -> User {
        User { id: self.user(), name: self.name().cloned() }
    }

    fn name(&self) -> Option<&UserName> {
        self.name.as_ref().map(|own| &own.name)
    }

    fn inbox(&self) -> &Arc<Inbox> {
        self.registration.inbox()
    }

    /// Handles all that has happened since: answers in the inbox, deadlines, and a held frame that can start.
    pub fn advance(&mut self, now: Instant) {
        let batch = self.inbox().take(now);
        self.beats.frames.answered(batch.slots);
        self.beats.rejected.extend(batch.rejected);
        for push in batch.pushes {
            match push {
                Push::Flag(day) => self.decisions.decided_user(day),
                Push::Cleared { .. } => {
                    self.name.iter_mut().for_each(|own| own.dropped = Some(now + NAME_DROPPED_WITHIN));
                }
                _ => {}
            }
            self.replies.add([ServerFrame::Push(push)]);
        }
        self.next_push = batch.next_push;
        let claims = batch.news.map(|news| self.learn(*news)).unwrap_or_default();
        let due = self.beats.due.is_none_or(|due| now >= due);
        let closes = batch.close_request.is_some();
        if batch.urgent || due || !self.beats.rejected.is_empty() || !self.listens() || closes {
            self.send_acks(now);
        }
        let name = self.name().cloned();
        self.replies.add(claims.into_iter().map(|claim| ServerFrame::Reward(claim, name.clone())));
        if let Some(outcome) = batch.order {
            self.ordered(&outcome, now);
        }
        self.go_on(now);
        self.check_deadlines(now);
        if let Some(close_request) = batch.close_request {
            self.end_now(close_request.into());
        }
        // A conversation that waits for a commit must not wait for later beats.
        if !self.listens() || self.hurries() {
            self.release_beats();
        }
        self.defer_acks();
    }

    /// Whether the end of the token ends it now. `all_read`: nothing more is there to be read.
    pub fn expires(&mut self, now: Instant, all_read: bool) -> bool {
        let over = self.listens() && self.token_expiry.is_over(now, all_read);
        if over {
            self.end_later(CloseReason::Expired, now);
        }
        over
    }

    /// Makes all acks immediate from now on; no list waits for its turn.
    pub fn hurry(&mut self, now: Instant) {
        self.cancel_waiting_list(now);
        self.ack_delay = None;
        self.beats.due = None;
    }

    fn hurries(&self) -> bool {
        self.ack_delay.is_none() || self.state.is_closing()
    }

    /// Takes the next frame to send, with the names of its contents.
    pub fn next_frame(&mut self) -> Option<(ServerFrame, ContentTexts)> {
        self.replies.next(self.context.contents.as_ref())
    }

    /// Whether there is a frame to send. One that waits for names is none yet.
    pub fn has_frames(&self) -> bool {
        self.replies.has_next()
    }

    /// Whether another message may be read.
    pub fn listens(&self) -> bool {
        self.state.listens()
    }

    /// Whether all that was read is answered.
    pub fn idle(&self) -> bool {
        self.state.is_idle() && self.beats.frames.slots() == 0 && !self.replies.waits()
    }

    /// Whether it waits for room in the submit queue.
    pub fn waits_for_room(&self) -> bool {
        self.state.held().is_some_and(Held::waits_for_room)
    }

    /// Whether it waits for the turn of a long frame.
    pub fn waits_for_permit(&self) -> bool {
        self.state.held().is_some_and(Held::waits_for_permit)
    }

    /// Whether a read is under way, or a list waits for its turn, or a frame waits for names.
    pub fn has_read(&self) -> bool {
        self.state.read().is_some() || self.replies.waits()
    }

    /// Why the socket is to be closed, once it is.
    pub fn ended(&self) -> Option<CloseReason> {
        match self.state {
            State::Closed(reason) => Some(reason),
            State::Closing(reason, _) => self.idle().then_some(reason),
            State::Open | State::ListWaits(_) | State::Busy(_) => None,
        }
    }

    /// When to [advance](Self::advance) though nothing happened, if at all.
    pub fn next_deadline(&self) -> Option<Instant> {
        let held = self.state.held().and_then(Held::deadline);
        let order = self.state.order().map(|order| order.deadline);
        let expiry = self.listens().then(|| self.token_expiry.ends());
        [held, order, expiry, self.next_push, self.beats.due].into_iter().flatten().min()
    }

    /// Ends the conversation. Beats that were held are committed.
    pub fn close(self) {
        self.intake().submit_queue.leave(self.connection());
    }

    /// Cancels everything in progress: the client is gone or has broken the rules.
    pub fn end_now(&mut self, reason: CloseReason) {
        self.state = State::Closed(reason);
    }

    fn end_later(&mut self, reason: CloseReason, now: Instant) {
        self.cancel_waiting_list(now);
        self.state.close_later(reason);
    }

    fn succeed(&mut self, seq: u32, answer: Answer) {
        self.strikes = 0;
        self.replies.success(seq, answer);
    }

    fn fail(&mut self, seq: Option<u32>, code: ErrorCode, message: String, now: Instant) {
        if matches!(code, ErrorCode::Invalid | ErrorCode::TooMany) {
            self.strikes += 1;
        }
        self.replies.failure(seq, code, message);
        if self.strikes >= STRIKES_MAX {
            self.end_later(CloseReason::Invalid, now);
        }
    }
}
