//! Clients that begin a handshake and do not go on.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

use super::super::dial;
use super::ending::{Ending, answered, heard};
use super::scene::Scene;

const LINE_EVERY: Duration = Duration::from_secs(2);

/// Sends the head of a request, a line now and then, and never ends it.
pub async fn endless_head(scene: &Scene, number: u64) -> Ending {
    let mut stream = match scene.connect(number).await {
        Ok(stream) => stream,
        Err(error) => return error.into(),
    };
    let (mut reader, mut writer) = stream.split();
    let trickle = async {
        let _ = writer.write_all(b"GET /v1/connect HTTP/1.1\r\nHost: here\r\n").await;
        loop {
            sleep(LINE_EVERY).await;
            let _ = writer.write_all(b"X-More: follows\r\n").await;
        }
    };
    tokio::select! {
        ending = answered(&mut reader) => ending,
        () = trickle => unreachable!("it has no end"),
    }
}

/// Upgrades without a token, and sends no hello.
pub async fn silence(scene: &Scene, number: u64) -> Ending {
    let mut stream = match scene.connect(number).await {
        Ok(stream) => stream,
        Err(error) => return error.into(),
    };
    match dial::upgrade(&scene.assault.target, &mut stream, None).await {
        Ok(rest) => heard(&mut stream, rest, |_| None).await,
        Err(error) => error.into(),
    }
}
