//! Clients that send requests and do not read the answers.

use std::io;
use std::time::Duration;

use socket2::SockRef;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::super::answer;
use super::super::dial::{self, DialError};
use super::super::text::write_beats;
use super::super::viewer::Beat;
use super::super::wire::{self, Opcode};
use super::bytes;
use super::ending::{Ending, heard, heard_so_far};
use super::scene::Scene;

/// Readers of a user. With so few, all answers stay below `limits.list_rows_burst`: beyond it lists would wait, and not
/// pile up.
const READERS_PER_USER: u64 = 5;
const RECORDS: u32 = 200;
/// The close code for a client that does not read.
const TOO_SLOW: u16 = 4009;
/// Some megabytes of answers, and together with the beats no more than the burst allows.
const LISTS: u32 = 60;
/// The time in which the gateway should close all of these clients. After it a client reads on.
const DEAF_FOR_MAX: Duration = Duration::from_secs(60);
const RECEIVE_BUFFER_BYTES: u32 = 4096;
/// As on an Ethernet. With the loopback's 64 KiB, the kernel would buffer megabytes for each socket.
const SEGMENT_BYTES: u32 = 1460;

/// Requests far more than the kernel buffers, and reads it when it is too late. The first client of a user writes the
/// records that all of them request.
pub async fn deaf(scene: &Scene, number: u64) -> Ending {
    let user = number / READERS_PER_USER;
    let entered = async {
        let stream = narrow(scene, number).await?;
        dial::enter(&scene.assault.target, stream, &scene.token(user)).await
    };
    let mut dialed = match entered.await {
        Ok(dialed) => dialed,
        Err(error) => return error.into(),
    };
    if number.is_multiple_of(READERS_PER_USER) {
        let beats = records(scene, user, dialed.welcome.now);
        if let Err(error) = dialed.stream.write_all(&beats).await {
            return error.kind().into();
        }
        let acked = |text: &[u8]| answer::plain_ack(text).map(|_| Ending::Acked);
        match heard_so_far(&mut dialed.stream, &mut dialed.rest, acked).await {
            Ending::Acked => scene.written(user),
            ending => return ending,
        }
    } else {
        scene.wait_until_written(user).await;
    }
    let lists = bytes::lists(LISTS, RECORDS, 2, scene.mask());
    if let Err(error) = dialed.stream.write_all(&lists).await {
        return error.kind().into();
    }
    let _ = timeout(DEAF_FOR_MAX, scene.wait_until_all_closed(TOO_SLOW)).await;
    heard(&mut dialed.stream, dialed.rest, |_| None).await
}

async fn narrow(scene: &Scene, number: u64) -> Result<TcpStream, DialError> {
    let target = scene.assault.target.address;
    let socket = dial::socket(target, scene.source(number))?;
    let narrowed = || -> io::Result<()> {
        socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES)?;
        SockRef::from(&socket).set_tcp_mss(SEGMENT_BYTES)
    };
    narrowed().map_err(|error| DialError::Connect(error.kind()))?;
    dial::connect(socket, target).await
}

/// A frame with a beat of each of [`RECORDS`] contents.
fn records(scene: &Scene, user: u64, now: u64) -> Vec<u8> {
    let beats: Vec<_> = (1..=RECORDS).map(|content| Beat { content, played: 0, at: now }).collect();
    let (mut text, mut frame) = (Vec::new(), Vec::new());
    write_beats(1, &beats, None, &scene.names(user), &mut text);
    wire::push(Opcode::Text, &text, scene.mask(), &mut frame);
    frame
}
