//! One socket of one user: sends one beat, and listens for everything that follows from it.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::super::answer::{self, Said};
use super::super::dial::Dialed;
use super::super::text::{self, Names};
use super::super::viewer::Beat;
use super::super::wire::{self, Opcode};

const BEAT_SEQ: u32 = 1;
const LAST_SEQ: u32 = 2;
/// The rejection of a loser of a race for the same content.
const SUPERSEDED: &str = "superseded";

pub struct Racer {
    pub user: u64,
    stream: TcpStream,
    read: Vec<u8>,
    /// The server's clock at the welcome.
    now: u64,
    heard: Heard,
}

/// The messages a racer has received.
#[derive(Debug, Default)]
pub struct Heard {
    acked: bool,
    flagged: bool,
    done: bool,
    /// (rule, id) of each reward.
    pub rewards: Vec<(String, String)>,
}

impl Racer {
    pub fn new(user: u64, dialed: Dialed) -> Self {
        let heard = Heard { flagged: dialed.welcome.flag.is_some(), ..Heard::default() };
        Racer { user, stream: dialed.stream, read: dialed.rest, now: dialed.welcome.now, heard }
    }

    /// Sends its beat without waiting. `content`: 1 or above; `later`: milliseconds after the others of its content.
    pub fn start(&self, names: &Names, content: u32, later: u64, mask: u32) -> io::Result<()> {
        let beat = Beat { content, played: 5_000, at: self.now - 1_000 + later };
        let mut text = Vec::new();
        text::write_beat(BEAT_SEQ, &beat, None, names, &mut text);
        let mut frame = Vec::new();
        wire::push(Opcode::Text, &text, mask, &mut frame);
        match self.stream.try_write(&frame)? {
            written if written == frame.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    /// Listens until the beat is acked, the flag has come, and a later request is answered.
    pub async fn finish(mut self, mask: u32) -> Result<(u64, Heard), String> {
        self.receive_until(|heard| heard.acked && heard.flagged).await?;
        let mut frame = Vec::new();
        let question = format!("{{\"seq\":{LAST_SEQ},\"get\":{{\"items\":[]}}}}");
        wire::push(Opcode::Text, question.as_bytes(), mask, &mut frame);
        self.stream.write_all(&frame).await.map_err(|error| error.to_string())?;
        self.receive_until(|heard| heard.done).await?;
        Ok((self.user, self.heard))
    }

    async fn receive_until(&mut self, enough: impl Fn(&Heard) -> bool) -> Result<(), String> {
        loop {
            while let Some(frame) = wire::parse(&self.read).map_err(|_| "not the protocol")? {
                match frame.opcode {
                    Opcode::Text => self.heard.take(&self.read[frame.payload.clone()])?,
                    Opcode::Close => return Err(format!("closed {}", wire::close_code(&self.read[frame.payload]))),
                    Opcode::Ping | Opcode::Pong => {}
                }
                self.read.drain(..frame.end);
            }
            if enough(&self.heard) {
                return Ok(());
            }
            if self.stream.read_buf(&mut self.read).await.map_err(|error| error.to_string())? == 0 {
                return Err("lost".to_owned());
            }
        }
    }
}

impl Heard {
    fn take(&mut self, text: &[u8]) -> Result<(), String> {
        let said = answer::read(text).ok_or("not the protocol")?;
        match said {
            Said { ack: Some(ack), .. } => {
                if let Some(rejection) = ack.rejected.iter().find(|rejection| rejection.reason != SUPERSEDED) {
                    return Err(format!("rejected: {}", rejection.reason));
                }
                self.acked |= ack.seq >= BEAT_SEQ;
                self.flagged |= ack.flag.is_some();
            }
            Said { push: Some(push), .. } => self.flagged |= push.flag.is_some(),
            Said { reward: Some(reward), .. } => self.rewards.push((reward.rule, reward.id)),
            Said { result: Some(result), .. } => self.done |= result.seq == LAST_SEQ,
            Said { error: Some(error), .. } => return Err(format!("error {}", error.code)),
            _ => return Err("not the protocol".to_owned()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acks_flags_and_rewards_are_recorded_and_anything_else_is_an_error() {
        let mut heard = Heard::default();
        heard.take(br#"{"ack":{"seq":1,"rejected":[{"seq":1,"index":0,"reason":"superseded"}]}}"#).expect("an ack");
        assert!(heard.acked && !heard.flagged);
        heard.take(br#"{"push":{"flag":"2026-11-20"}}"#).expect("a push");
        heard.take(br#"{"push":{"record":{"kind":1}}}"#).expect("a push");
        heard.take(br#"{"reward":{"id":"a:b","rule":"a","day":"2026-11-20"}}"#).expect("a reward");
        heard.take(br#"{"result":{"seq":2,"records":[]}}"#).expect("a result");
        assert!(heard.flagged && heard.done);
        assert_eq!(heard.rewards, [("a".to_owned(), "a:b".to_owned())]);
        for wrong in
            [&br#"{"ack":{"seq":1,"rejected":[{"seq":1,"index":0,"reason":"clock"}]}}"#[..], b"{\"bye\":{}}", b"x"]
        {
            assert!(heard.take(wrong).is_err());
        }
    }
}
