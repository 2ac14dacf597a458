//! One connection: a conversation, driven as a live socket drives it, and a client that reads or does not.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use heartline::domain::devices::ready_list::Notifier;
use heartline::domain::ingest::submit_queue::LargeFramePermit;
use heartline::edge::auth::User;
use heartline::edge::connection::close::CloseReason;
use heartline::edge::connection::conversation::{Asked, Conversation};
use heartline::edge::protocol::frame::{Hello, ServerFrame};
use heartline::model::ids::{ConnectionId, UserId};
use heartline::model::visitor::Visitor;
use tokio::sync::Notify;

use crate::conversation::gateway::Gateway;
use crate::conversation::time::now;

/// The token of a connection lives for so long, unless it is renewed.
pub const TOKEN_LIFE: Duration = Duration::from_secs(60);

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Closed(CloseReason),
    /// It was to leave, and all was answered.
    Left,
}

pub struct Peer {
    pub user: UserId,
    pub connection: ConnectionId,
    /// Until it has ended.
    conversation: Option<Conversation>,
    notify: Arc<Notify>,
    room: Option<LocalBoxFuture<'static, Option<LargeFramePermit>>>,
    look: bool,
    leaving: bool,
    /// The client does not read.
    pub stuck: bool,
    /// What the client has sent.
    inbound: VecDeque<String>,
    /// What was read of it since the last look.
    pub heard: Vec<String>,
    /// What was said since the last look.
    pub said: Vec<ServerFrame>,
    pub end: Option<End>,
}

impl Peer {
    /// Of a client that said hello with a number (0: none), and asked for acks as late as this.
    pub fn new(gateway: &Gateway, user: UserId, seq: u32, ack_delay: Duration) -> Self {
        Self::staying(gateway, user, seq, ack_delay, TOKEN_LIFE)
    }

    /// The same, with a token for so long.
    pub fn staying(gateway: &Gateway, user: UserId, seq: u32, ack_delay: Duration, life: Duration) -> Self {
        let context = gateway.context.clone();
        let identity = context.authenticator.identify(&gateway.token(user, life)).unwrap();
        let notify = Arc::<Notify>::default();
        let registration =
            context.authenticator.enter(user, &identity, Visitor::default(), Notifier::Own(notify.clone())).unwrap();
        let hello = Hello { ack_delay: Some(ack_delay.as_millis() as u64), ..Hello::default() };
        let (asked, named) = (Asked { hello, seq, flag: None }, User { id: user, name: None });
        let conversation = Conversation::new(context, registration, (&identity, named), asked, now());
        Peer {
            user,
            connection: conversation.connection(),
            conversation: Some(conversation),
            notify,
            room: None,
            look: true,
            leaving: false,
            stuck: false,
            inbound: VecDeque::new(),
            heard: Vec::new(),
            said: Vec::new(),
            end: None,
        }
    }

    /// Sends a message, and lets the conversation go on.
    pub fn send(&mut self, text: String) {
        self.inbound.push_back(text);
        self.go_on();
    }

    /// Whether something that was sent is not read.
    pub fn has_unread(&self) -> bool {
        !self.inbound.is_empty()
    }

    /// What was said since the last look.
    pub fn said(&mut self) -> Vec<ServerFrame> {
        self.go_on();
        std::mem::take(&mut self.said)
    }

    /// The drain begins, or the client leaves.
    pub fn hurry(&mut self) {
        if let Some(conversation) = &mut self.conversation {
            conversation.hurry(now());
            (self.leaving, self.look) = (true, true);
        }
        self.go_on();
    }

    pub fn next_deadline(&self) -> Option<Instant> {
        self.conversation.as_ref().and_then(Conversation::next_deadline)
    }

    /// Does all that can be done now, and looks into the inbox only when there is a reason to.
    pub fn go_on(&mut self) {
        let now = now();
        self.look |= self.notify.notified().now_or_never().is_some();
        self.look |= self.next_deadline().is_some_and(|deadline| deadline <= now);
        while self.step(now) {}
    }

    /// Whether there is more to do.
    fn step(&mut self, now: Instant) -> bool {
        if self.stuck {
            self.poll_waits(now);
            self.conversation.iter_mut().for_each(|conversation| conversation.give_way());
            return false;
        }
        let Some(conversation) = &mut self.conversation else { return false };
        if std::mem::take(&mut self.look) {
            conversation.advance(now);
        }
        while let Some((frame, _)) = conversation.next_frame() {
            self.said.push(frame);
        }
        let left = (self.leaving && conversation.idle()).then_some(End::Left);
        if let Some(end) = conversation.ended().map(End::Closed) {
            return self.ends(end);
        }
        let all_read = self.inbound.is_empty();
        if conversation.expires(now, all_read) {
            self.look = true;
            return true;
        }
        if conversation.listens()
            && let Some(text) = self.inbound.pop_front()
        {
            conversation.receive(&text, now);
            self.look = !conversation.listens();
            self.heard.push(text);
            return true;
        }
        self.poll_waits(now) || left.is_some_and(|left| self.ends(left))
    }

    fn ends(&mut self, end: End) -> bool {
        if let (End::Closed(_), Some(conversation)) = (end, &mut self.conversation) {
            conversation.receive("{", now());
            assert!(conversation.next_frame().is_none(), "nothing is said after the end");
        }
        // As a live socket does it that is left.
        self.conversation.take().into_iter().for_each(Conversation::close);
        (self.end, self.room) = (Some(end), None);
        false
    }

    fn poll_waits(&mut self, now: Instant) -> bool {
        let Some(conversation) = &mut self.conversation else { return false };
        let mut cx = Context::from_waker(Waker::noop());
        self.look |= conversation.poll_read(&mut cx, now);
        let waits_for_permit = conversation.waits_for_permit();
        if !waits_for_permit && !conversation.waits_for_room() {
            self.room = None;
            return self.look;
        }
        let submit_queue = conversation.intake().submit_queue.clone();
        let room = self.room.get_or_insert_with(|| match waits_for_permit {
            true => submit_queue.large_frame_permit().map(Some).boxed_local(),
            false => async move { submit_queue.room().await }.map(|()| None).boxed_local(),
        });
        if let Poll::Ready(turn) = room.as_mut().poll(&mut cx) {
            (self.room, self.look) = (None, true);
            if let Some(turn) = turn {
                conversation.grant_large_frame(turn, now);
            }
        }
        self.look
    }
}
