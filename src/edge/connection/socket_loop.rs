//! Frames in, frames out, timers, drain.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Sleep;

use super::close::CloseReason;
use super::conversation::Conversation;
use super::rate::Rate;
use super::silence::{Due, Silence};
use super::socket::{Heard, Socket, Unheard};
use crate::domain::history::Unavailable;
use crate::edge::desk::Desk;
use crate::edge::protocol::frame::{Answer, ServerFrame};
use crate::edge::protocol::json;

/// How long the timer sleeps when there is nothing to wake up for.
const NO_DEADLINE: Duration = Duration::from_secs(3600);
/// So far apart are the goodbyes of a drain that has the time.
const GOODBYE_EVERY: Duration = Duration::from_micros(500);

/// How a socket ends.
#[derive(Debug)]
enum End {
    Close(CloseReason),
    Parted(u16),
    Lost,
}

/// One authenticated socket. Boxed by whoever makes it: it is all that an idle connection keeps, and what moves through
/// async functions by value is kept once for each of them.
pub struct SocketLoop<S> {
    socket: Socket<S>,
    conversation: Conversation,
    desk: Arc<Desk>,
    rate: Rate,
    silence: Silence,
    /// When reading stopped because the conversation waits; client clocks stand still meanwhile.
    deaf_since: Option<Instant>,
    /// When to say goodbye, once the server drains.
    leave_at: Option<Instant>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> SocketLoop<S> {
    pub fn new(socket: Socket<S>, conversation: Conversation, desk: Arc<Desk>) -> Box<Self> {
        let now = Instant::now();
        Box::new(SocketLoop {
            socket,
            conversation,
            rate: Rate::new(desk.limits.frames_per_second, desk.limits.burst, now),
            silence: Silence::new(&desk.socket, now),
            deaf_since: None,
            leave_at: None,
            desk,
        })
    }

    /// Serves the socket until it ends.
    pub async fn serve(mut self: Box<Self>) {
        let user = self.desk.mid_hash.of(self.conversation.mailbox().user);
        tracing::debug!(%user, "connected");
        self.desk.metrics.connections.inc();
        let end = self.run().await;
        self.desk.metrics.connections.dec();
        tracing::debug!(%user, ?end, "disconnected");
        let SocketLoop { socket, conversation, .. } = *self;
        drop(conversation);
        match end {
            End::Close(reason) => Box::pin(socket.close(reason)).await,
            End::Parted(code) => Box::pin(socket.part(code)).await,
            End::Lost => socket.lose(),
        }
    }

    async fn run(&mut self) -> End {
        let mailbox = self.conversation.mailbox();
        let desk = self.desk.clone();
        let mut draining = Box::pin(desk.stop.draining());
        let mut timer = Box::pin(tokio::time::sleep_until(self.next_deadline(Instant::now()).into()));
        loop {
            let now = Instant::now();
            self.conversation.turn(now);
            if let Err(end) = self.say(None).await {
                return end;
            }
            if let Some(reason) = self.conversation.ended() {
                return self.goodbye(reason).await;
            }
            if self.may_leave(now) {
                match self.socket.hear_now() {
                    Some(heard) => match self.heard(heard) {
                        Some(end) => return end,
                        None => continue,
                    },
                    None => return self.goodbye(CloseReason::Drain).await,
                }
            }
            self.set_timer(timer.as_mut(), now);
            let (listens, wants_room, drains) =
                (self.listens(now), self.conversation.waits_for_room(), self.leave_at.is_some());
            tokio::select! {
                biased;
                () = mailbox.rung() => {}
                (seq, answer) = reading(&mut self.conversation) => self.conversation.answered(seq, answer),
                heard = self.socket.hear(), if listens => {
                    if let Some(end) = self.heard(heard) {
                        return end;
                    }
                }
                () = desk.intake.lane.room(), if wants_room => {}
                until = &mut draining, if !drains => self.leave_before(until.into()),
                () = &mut timer => {
                    if let Some(end) = self.listen_to_silence().await {
                        return end;
                    }
                }
            }
        }
    }

    fn heard(&mut self, heard: Heard) -> Option<End> {
        let now = Instant::now();
        self.silence.broken(now);
        if !self.rate.allow(1, now) {
            self.conversation.end_now(CloseReason::TooFast);
        }
        match heard {
            Heard::Text(text) => self.conversation.hear(&text, now),
            Heard::Alive => {}
            Heard::Closed(code) => return Some(End::Parted(code)),
            Heard::Lost => return Some(End::Lost),
            Heard::Wrong(reason) => return Some(End::Close(reason)),
        }
        None
    }

    /// Whether to read on; while the server does not, the client's clocks stand still.
    fn listens(&mut self, now: Instant) -> bool {
        let listens = self.conversation.listens();
        if listens {
            if let Some(since) = self.deaf_since.take() {
                self.rate.stood_still(now - since);
                self.socket.stood_still(now - since);
                self.silence.broken(now);
            }
        } else {
            self.deaf_since.get_or_insert(now);
        }
        listens
    }

    /// Says what the conversation has to say, and `last` after it.
    async fn say(&mut self, last: Option<ServerFrame>) -> Result<(), End> {
        let frames = self.conversation.say();
        if frames.is_empty() && last.is_none() {
            return Ok(());
        }
        let texts = frames.iter().chain(last.iter()).map(|frame| json::encode(frame, &self.desk.reading));
        self.socket.say(texts).await.map_err(|unheard| match unheard {
            Unheard::TooSlow => End::Close(CloseReason::TooSlow),
            Unheard::Lost => End::Lost,
        })
    }

    async fn goodbye(&mut self, reason: CloseReason) -> End {
        match self.say(reason.bye()).await {
            Ok(()) => End::Close(reason),
            Err(end) => end,
        }
    }

    /// Goodbyes are spread over the first half of the drain, so that not all clients look for another place at once.
    fn leave_before(&mut self, until: Instant) {
        let now = Instant::now();
        let connections = self.desk.metrics.connections.get().clamp(1, i64::from(u32::MAX)) as u32;
        self.conversation.hurry();
        let spread = (until.saturating_duration_since(now) / 2).min(GOODBYE_EVERY * connections);
        self.leave_at = Some(now + spread.mul_f64(rand::random()));
    }

    /// Whether everything that was read is answered, and the time to go has come.
    fn may_leave(&self, now: Instant) -> bool {
        self.leave_at.is_some_and(|leave_at| now >= leave_at) && self.conversation.idle()
    }

    async fn listen_to_silence(&mut self) -> Option<End> {
        if self.deaf_since.is_some() {
            return None;
        }
        match self.silence.due(Instant::now()) {
            Due::Nothing => None,
            Due::Close => Some(End::Close(CloseReason::Idle)),
            Due::Ping => self.socket.ping().await.err().map(|_| End::Lost),
        }
    }

    fn next_deadline(&self, now: Instant) -> Instant {
        let silence = self.deaf_since.is_none().then(|| self.silence.next());
        // By the same clock as `may_leave`: a moment that passes between the two must not be forgotten.
        let leave = self.leave_at.filter(|leave_at| *leave_at > now);
        let deadlines = [silence, leave, self.conversation.next_deadline()];
        deadlines.into_iter().flatten().min().unwrap_or(now + NO_DEADLINE)
    }

    /// The timer is left alone while it fires early enough: most deadlines only move away.
    fn set_timer(&self, timer: Pin<&mut Sleep>, now: Instant) {
        let deadline = self.next_deadline(now).into();
        if timer.is_elapsed() || deadline < timer.deadline() {
            timer.reset(deadline);
        }
    }
}

/// The read that is under way; never ends when there is none.
async fn reading(conversation: &mut Conversation) -> (u32, Result<Answer, Unavailable>) {
    match conversation.reading() {
        Some(answer) => answer.await,
        None => std::future::pending().await,
    }
}
