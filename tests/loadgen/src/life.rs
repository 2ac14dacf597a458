//! The life of one socket: connect, listen, and perhaps connect again.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, ready};
use std::time::Duration;

use heartline::model::backoff::Backoff;
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::net::tcp::OwnedReadHalf;
use tokio::time::{sleep, timeout};

use super::dial::{self, DialError, Dialed};
use super::member::Member;
use super::stage::Stage;
use super::tally;
use super::wire::{self, Opcode};

const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));

/// How a socket ended.
enum Ended {
    Closed(u16),
    Lost(io::ErrorKind),
    Broken,
    /// The user left; the next user's socket takes its place.
    Left,
}

/// Connects for the first time, at a random moment of the socket's time slot, and goes on with `live`.
pub async fn begin(stage: Rc<Stage>, member: Rc<Member>, every: Duration) {
    // A user who connects several times takes as many time slots, or the gateway would refuse what exceeds its rate.
    let visits = f64::from(stage.load.churn + 1);
    sleep(every.mul_f64(visits * (member.slot as f64 + stage.share()))).await;
    match Box::pin(enter(&stage, &member)).await {
        Ok(dialed) => {
            stage.connected.set(stage.connected.get() + 1);
            stage.entered.notify_one();
            live(stage, member, dialed).await;
        }
        Err(error) => {
            let mut failure = stage.failure.borrow_mut();
            failure.get_or_insert_with(|| format!("a socket cannot be connected: {error}"));
            stage.entered.notify_one();
        }
    }
}

/// Listens on the member's sockets, one after the other, until a lost socket is not replaced.
pub async fn live(stage: Rc<Stage>, member: Rc<Member>, mut dialed: Dialed) {
    loop {
        let (mut reader, link) = dialed.stream.into_split();
        member.attach(&stage, link, &dialed.welcome);
        let ended = tokio::select! {
            ended = listen(&stage, &member, &mut reader, dialed.rest) => ended,
            () = member.visit(&stage) => Ended::Left,
        };
        if matches!(ended, Ended::Left) {
            member.leave(&stage);
            drop(reader);
            dialed = Box::pin(enter_at_once(&stage, &member)).await;
            continue;
        }
        member.detach();
        match ended {
            Ended::Closed(code) => stage.tally.borrow_mut().closed(code),
            Ended::Lost(kind) => stage.tally.borrow_mut().error(&format!("lost: {kind}")),
            Ended::Broken => stage.tally.borrow_mut().error("not the protocol"),
            Ended::Left => unreachable!("it goes on above"),
        }
        if !stage.load.reconnect {
            return;
        }
        drop(reader);
        dialed = Box::pin(enter_again(&stage, &member)).await;
        stage.tally.borrow_mut().counts.reconnects += 1;
    }
}

async fn enter(stage: &Stage, member: &Member) -> Result<Dialed, DialError> {
    for _ in 0..stage.load.churn {
        let mut visitor = try_to_enter(stage, member).await?;
        let mut goodbye = Vec::new();
        wire::push(Opcode::Close, &1000u16.to_be_bytes(), stage.mask(), &mut goodbye);
        // The close cannot always be sent, and the socket ends anyway.
        let _ = visitor.stream.write_all(&goodbye).await;
    }
    try_to_enter(stage, member).await
}

async fn try_to_enter(stage: &Stage, member: &Member) -> Result<Dialed, DialError> {
    let mut attempt = 1;
    loop {
        let entered = dial(stage, member).await;
        match entered {
            Err(error) if attempt < stage.load.connect_tries => {
                tally::count(&mut stage.tally.borrow_mut().counts.connect_retries, &error.to_string());
                sleep(backoff(stage, attempt)).await;
                attempt += 1;
            }
            entered => return entered,
        }
    }
}

/// Connects the next user: tries at once, and then with backoff.
async fn enter_at_once(stage: &Stage, member: &Member) -> Dialed {
    match dial(stage, member).await {
        Ok(dialed) => dialed,
        Err(_) => enter_again(stage, member).await,
    }
}

async fn enter_again(stage: &Stage, member: &Member) -> Dialed {
    let mut attempt = 1;
    loop {
        sleep(backoff(stage, attempt)).await;
        if let Ok(dialed) = dial(stage, member).await {
            return dialed;
        }
        attempt += 1;
    }
}

/// One attempt to connect.
pub async fn dial(stage: &Stage, member: &Member) -> Result<Dialed, DialError> {
    let Ok(_permit) = stage.door.acquire().await else { return Err(DialError::Timeout) };
    let target = &stage.targets[(member.socket % stage.targets.len() as u64) as usize];
    let source = dial::source(target.address, stage.run, member.socket, member.next_attempt());
    let token = stage.tokens.of(member.names().mid);
    let dialing = dial::dial(target, source, &token);
    timeout(stage.load.connect_timeout, dialing).await.unwrap_or(Err(DialError::Timeout))
}

/// The backoff with full jitter.
fn backoff(stage: &Stage, attempt: u32) -> Duration {
    BACKOFF.after(attempt).mul_f64(stage.share())
}

async fn listen(stage: &Stage, member: &Member, reader: &mut OwnedReadHalf, mut rest: Vec<u8>) -> Ended {
    // The bytes that came with the welcome.
    if let Err(ended) = receive_from(stage, member, &mut rest, &[]) {
        return ended;
    }
    poll_fn(|context| {
        loop {
            let mut scratch = stage.scratch.borrow_mut();
            let mut buffer = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut *reader).poll_read(context, &mut buffer)) {
                Ok(()) if buffer.filled().is_empty() => return Poll::Ready(Ended::Lost(io::ErrorKind::UnexpectedEof)),
                Ok(()) => {
                    if let Err(ended) = receive_from(stage, member, &mut rest, buffer.filled()) {
                        return Poll::Ready(ended);
                    }
                }
                Err(error) => return Poll::Ready(Ended::Lost(error.kind())),
            }
        }
    })
    .await
}

/// Handles the whole frames of `rest` and `read`, and leaves the start of an incomplete frame in `rest`.
fn receive_from(stage: &Stage, member: &Member, rest: &mut Vec<u8>, read: &[u8]) -> Result<(), Ended> {
    if rest.is_empty() {
        let heard = receive_all(stage, member, read)?;
        rest.extend(&read[heard..]);
    } else {
        rest.extend(read);
        let heard = receive_all(stage, member, rest)?;
        rest.drain(..heard);
        if rest.is_empty() {
            *rest = Vec::new();
        }
    }
    Ok(())
}

/// Returns the number of bytes handled.
fn receive_all(stage: &Stage, member: &Member, bytes: &[u8]) -> Result<usize, Ended> {
    let mut start = 0;
    while let Some(frame) = wire::parse(&bytes[start..]).map_err(|_| Ended::Broken)? {
        let payload = &bytes[start..][frame.payload];
        match frame.opcode {
            Opcode::Text => member.receive(stage, payload),
            Opcode::Ping => member.pong(stage, payload),
            Opcode::Pong => {}
            Opcode::Close => return Err(Ended::Closed(wire::close_code(payload))),
        }
        start += frame.end;
    }
    Ok(start)
}
