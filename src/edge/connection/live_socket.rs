//! One authenticated socket: frames in, frames out, timers, drain.
//!
//! Its task waits for the peer, for timers and for reads. The inbox, above all the answers to beats, does not wake that
//! task: the [`ConnectionSet`](super::connection_set::ConnectionSet) of the thread [serves](LiveSocket::serve) all
//! ready sockets in one pass. It wakes the task of a socket only if there is more to do than to send.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures_util::future::LocalBoxFuture;
use tokio::time::Sleep;

use super::close::CloseReason;
use super::connection_log::ConnectionLog;
use super::conversation::Conversation;
use super::decoder::Received;
use super::end::End;
use super::idle_timer::{Due, IdleTimer};
use super::socket::Socket;
use crate::context::ConnectionContext;
use crate::limits::connection_limiter::ConnectionPermit;
use crate::limits::quota::Rate;
use crate::protocol::json;
use domain::ingest::submit_queue::LargeFramePermit;
use model::content_name::ContentTexts;

/// How long the timer sleeps without a deadline.
const NO_DEADLINE: Duration = Duration::from_secs(3600);
/// How long the close of a client waits for the answers to what it sent before.
const PARTING_MAX: Duration = Duration::from_secs(1);
/// The time between two goodbyes of a drain, if the drain has the time.
const GOODBYE_EVERY: Duration = Duration::from_micros(500);

/// Why a socket ends as soon as all that was read is answered.
enum Leaving {
    /// The server drains: the socket is closed from `at` on.
    Drain { at: Instant },
    /// The client has sent a close with this code. It is answered by `until`, whatever is left.
    Closed { code: u16, until: Instant },
}

/// All that an idle connection keeps, beside its task and its inbox.
pub struct LiveSocket {
    socket: Socket,
    conversation: Conversation,
    context: Arc<ConnectionContext>,
    rate: Rate,
    silence: IdleTimer,
    /// When reading stopped because the conversation waits or the peer does not read; client clocks stand still
    /// meanwhile.
    reading_paused_since: Option<Instant>,
    /// Boxed, since most sockets are not leaving.
    leaving: Option<Box<Leaving>>,
    /// Room in the submit queue, or a permit for a large frame, while the conversation waits for it.
    room: Option<LocalBoxFuture<'static, Option<LargeFramePermit>>>,
    /// Whether to look into the inbox without a notification.
    look: bool,
    /// Why it is to end, once that is known away from its task.
    end: Option<End>,
    /// Its task, and when that wakes by itself.
    task: Option<Waker>,
    wakes_at: Instant,
    at_end: Box<AtEnd>,
}

/// The state for the beginning and the end of a socket alone: behind a pointer, so that the rest stays small.
struct AtEnd {
    log: ConnectionLog,
    /// Given back.
    _permit: ConnectionPermit,
}

impl LiveSocket {
    pub fn new(
        socket: Socket,
        conversation: Conversation,
        context: Arc<ConnectionContext>,
        address: IpAddr,
        permit: ConnectionPermit,
    ) -> Self {
        context.metrics.connections.inc();
        let now = Instant::now();
        let mut log = ConnectionLog::new(address, now);
        log.proceed(&conversation, &context, now);
        LiveSocket {
            socket,
            conversation,
            rate: Rate::new(now),
            silence: IdleTimer::new(now),
            reading_paused_since: None,
            leaving: None,
            room: None,
            look: true,
            end: None,
            task: None,
            wakes_at: now,
            context,
            at_end: Box::new(AtEnd { log, _permit: permit }),
        }
    }

    /// Serves the socket until it ends: what its task does. `timer` is the task's.
    pub fn poll(&mut self, cx: &mut Context<'_>, timer: Pin<&mut Sleep>) -> Poll<End> {
        match &mut self.task {
            Some(task) => task.clone_from(cx.waker()),
            None => self.task = Some(cx.waker().clone()),
        }
        match self.proceed(cx, timer) {
            Ok(()) => Poll::Pending,
            Err(end) => Poll::Ready(end),
        }
    }

    /// Handles the contents of the inbox, and sends the answers.
    pub fn serve(&mut self, now: Instant) {
        // Stuck bytes must go first; the task looks when they have gone.
        if self.socket.is_stuck() || self.end.is_some() {
            return;
        }
        self.conversation.advance(now);
        self.end = self.send_frames(&mut Context::from_waker(Waker::noop())).err();
        if self.end.is_some() || self.needs_its_task(now) {
            self.wake();
        }
    }

    /// Goodbyes are spread over the first half of the drain, so that not all clients look for another place at once.
    pub fn leave_before(&mut self, until: Instant) {
        let now = Instant::now();
        let connections = self.context.metrics.connections.get().clamp(1, i64::from(u32::MAX)) as u32;
        self.conversation.hurry(now);
        let spread = (until.saturating_duration_since(now) / 2).min(GOODBYE_EVERY * connections);
        if !self.is_closed() {
            self.leaving = Some(Box::new(Leaving::Drain { at: now + spread.mul_f64(rand::random()) }));
        }
        self.look = true;
        self.wake();
    }

    /// Closes the socket.
    pub async fn leave(self, end: End) {
        let LiveSocket { socket, conversation, context, mut at_end, .. } = self;
        context.metrics.connections.dec();
        at_end.log.disconnected(&conversation, &context, &end);
        drop(context);
        conversation.close();
        match end {
            End::Close(reason) => Box::pin(socket.close(reason)).await,
            End::ClosedByClient(code) => Box::pin(socket.answer_close(code)).await,
            End::Lost => socket.lose(),
        }
        // Others may come in its place.
        drop(at_end);
    }

    /// Does all that can be done now, and has the task woken for the rest.
    fn proceed(&mut self, cx: &mut Context<'_>, mut timer: Pin<&mut Sleep>) -> Result<(), End> {
        self.end.take().map_or(Ok(()), Err)?;
        loop {
            let now = Instant::now();
            if self.flushed(cx)? {
                self.send_what_is_ready(cx, now)?;
                if self.socket.is_stuck()
                    || self.expires(now, false)
                    || self.receive(cx, now)?
                    || self.poll_waits(cx, now)
                    || self.expires(now, true)
                {
                    continue;
                }
            } else {
                self.listens(now);
                // Reads, room and permits that others wait for go on: they must not depend on how much this peer reads.
                self.poll_waits(cx, now);
                self.conversation.give_way();
            }
            if self.may_leave(now) {
                return Err(self.left(cx));
            }
            if !self.time_is_up(cx, timer.as_mut(), now)? {
                return Ok(());
            }
        }
    }

    /// Whether nothing waits for the peer to read.
    fn flushed(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        if !self.socket.is_stuck() {
            return Ok(true);
        }
        match self.socket.poll_flush(cx) {
            Poll::Ready(flushed) => flushed.map_err(End::from)?,
            Poll::Pending => return Ok(false),
        }
        self.look = true;
        Ok(true)
    }

    fn send_what_is_ready(&mut self, cx: &mut Context<'_>, now: Instant) -> Result<(), End> {
        if std::mem::take(&mut self.look) {
            self.conversation.advance(now);
        }
        self.send_frames(cx)?;
        match self.conversation.ended() {
            Some(reason) if !self.socket.is_stuck() => Err(self.goodbye(cx, reason)),
            _ => Ok(()),
        }
    }

    /// Sends the frames of the conversation, as far as the peer reads them.
    fn send_frames(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        let LiveSocket { socket, conversation, context, .. } = self;
        while conversation.has_frames() && !socket.is_stuck() {
            socket.send(cx, |out| {
                while out.has_room()
                    && let Some((frame, texts)) = conversation.next_frame()
                {
                    out.text(|text| json::encode_into(&frame, context.telling(&texts), text));
                }
            })?;
        }
        Ok(())
    }

    /// The last word before a close.
    fn goodbye(&mut self, cx: &mut Context<'_>, reason: CloseReason) -> End {
        let Some(bye) = reason.bye(rand::random()) else { return End::Close(reason) };
        let telling = self.context.telling(ContentTexts::NONE);
        match self.socket.send(cx, |out| out.text(|text| json::encode_into(&bye, telling, text))) {
            Ok(()) => End::Close(reason),
            Err(error) => error.into(),
        }
    }

    /// Takes in one message, if there is one and it may be read.
    fn receive(&mut self, cx: &mut Context<'_>, now: Instant) -> Result<bool, End> {
        if !self.listens(now) {
            return Ok(false);
        }
        let Poll::Ready(heard) = self.socket.poll_receive(cx, now) else { return Ok(false) };
        self.silence.broken(now);
        if !self.rate.allow(1, &self.context.quota, now) {
            self.conversation.end_now(CloseReason::TooFast);
        }
        match heard {
            Received::Text(text) => {
                let is_first = !self.conversation.has_received();
                self.conversation.receive(&text, now);
                if is_first {
                    self.at_end.log.proceed(&self.conversation, &self.context, now);
                }
                // A frame that waits for earlier beats waits for answers that may be there already, unannounced.
                self.look = !self.conversation.listens();
            }
            Received::Alive => {}
            Received::Binary(_) => return Err(End::Close(CloseReason::MessageType)),
            Received::Closed(code) => {
                self.leaving = Some(Box::new(Leaving::Closed { code, until: now + PARTING_MAX }));
                self.conversation.hurry(now);
                self.look = true;
            }
            Received::Lost => return Err(End::Lost),
            Received::Wrong(reason) => return Err(End::Close(reason)),
        }
        Ok(true)
    }

    fn is_closed(&self) -> bool {
        matches!(self.leaving.as_deref(), Some(Leaving::Closed { .. }))
    }

    /// Whether to read on; while the server does not, the client's clocks stand still.
    fn listens(&mut self, now: Instant) -> bool {
        let listens = self.conversation.listens() && !self.socket.is_stuck() && !self.is_closed();
        if !listens {
            self.reading_paused_since.get_or_insert(now);
        } else if let Some(since) = self.reading_paused_since.take() {
            self.rate.stood_still(now - since, now);
            self.socket.stood_still(now - since, now);
            self.silence.broken(now);
        }
        listens
    }

    /// Whether the conversation ends with its token now.
    fn expires(&mut self, now: Instant, all_read: bool) -> bool {
        let expires = self.conversation.expires(now, all_read);
        // Deferred answers are sent before the end.
        self.look |= expires;
        expires
    }

    /// Whether something that the conversation waits for is there: a read, or room for its beats.
    fn poll_waits(&mut self, cx: &mut Context<'_>, now: Instant) -> bool {
        self.look |= self.conversation.poll_read(cx, now);
        let waits_for_permit = self.conversation.waits_for_permit();
        if waits_for_permit || self.conversation.waits_for_room() {
            let submit_queue = &self.conversation.intake().submit_queue;
            let room = self.room.get_or_insert_with(|| {
                let submit_queue = submit_queue.clone();
                Box::pin(async move {
                    if waits_for_permit {
                        return Some(submit_queue.large_frame_permit().await);
                    }
                    submit_queue.room().await;
                    None
                })
            });
            if let Poll::Ready(permit) = room.as_mut().poll(cx) {
                self.room = None;
                self.look = true;
                if let Some(permit) = permit {
                    self.conversation.grant_large_frame(permit, now);
                }
            }
        } else {
            // A frame that no longer waits gives up its place in the queue.
            self.room = None;
        }
        self.look
    }

    /// Whether everything that was read is answered, and the time to go has come.
    fn may_leave(&self, now: Instant) -> bool {
        let answered = self.conversation.idle() && !self.socket.is_stuck();
        match self.leaving.as_deref() {
            Some(Leaving::Drain { at }) => answered && now >= *at,
            Some(Leaving::Closed { until, .. }) => answered || now >= *until,
            None => false,
        }
    }

    fn left(&mut self, cx: &mut Context<'_>) -> End {
        match self.leaving.as_deref() {
            Some(Leaving::Closed { code, .. }) => End::ClosedByClient(*code),
            Some(Leaving::Drain { .. }) | None => self.goodbye(cx, CloseReason::Drain),
        }
    }

    /// Sets the timer; whether it went off. It is left alone while it fires early enough: most deadlines only move
    /// away.
    fn time_is_up(&mut self, cx: &mut Context<'_>, mut timer: Pin<&mut Sleep>, now: Instant) -> Result<bool, End> {
        let deadline = self.next_deadline(now).into();
        if timer.is_elapsed() || deadline < timer.deadline() {
            timer.as_mut().reset(deadline);
        }
        self.wakes_at = timer.deadline().into();
        if timer.poll(cx).is_pending() {
            return Ok(false);
        }
        self.look = true;
        let now = Instant::now();
        self.at_end.log.proceed(&self.conversation, &self.context, now);
        if self.socket.stuck_until().is_some_and(|until| now >= until) {
            return Err(End::Close(CloseReason::TooSlow));
        }
        self.listen_to_silence(cx, now)?;
        Ok(true)
    }

    fn listen_to_silence(&mut self, cx: &mut Context<'_>, now: Instant) -> Result<(), End> {
        if self.reading_paused_since.is_some() {
            return Ok(());
        }
        match self.silence.due(&self.context.socket, now) {
            Due::Nothing => Ok(()),
            Due::Close => Err(End::Close(CloseReason::Idle)),
            Due::Ping => self.socket.send(cx, |out| out.ping()).map_err(|_| End::Lost),
        }
    }

    fn next_deadline(&self, now: Instant) -> Instant {
        let leave = self.leaving.as_deref().map(|leaving| match leaving {
            Leaving::Drain { at: moment } | Leaving::Closed { until: moment, .. } => *moment,
        });
        // By the same clock as `may_leave`: a moment that passes between the two must not be forgotten.
        let leave = leave.filter(|leave| *leave > now);
        if let Some(until) = self.socket.stuck_until() {
            return leave.map_or(until, |leave| leave.min(until));
        }
        let silence = self.reading_paused_since.is_none().then(|| self.silence.next(&self.context.socket));
        let log = if self.conversation.has_received() { None } else { self.at_end.log.deadline() };
        let deadlines = [silence, leave, self.conversation.next_deadline(), log];
        deadlines.into_iter().flatten().min().unwrap_or(now + NO_DEADLINE)
    }

    /// Whether there is more to do than to send.
    fn needs_its_task(&mut self, now: Instant) -> bool {
        self.socket.is_stuck()
            || self.conversation.ended().is_some()
            || self.conversation.has_read()
            || self.conversation.waits_for_room()
            || self.conversation.waits_for_permit()
            || self.room.is_some()
            || (self.reading_paused_since.is_some() && self.conversation.listens())
            || self.may_leave(now)
            || self.next_deadline(now) < self.wakes_at
    }

    fn wake(&self) {
        self.task.iter().for_each(Waker::wake_by_ref);
    }
}
