//! Clients that send far more than a player would.

use tokio::io::AsyncWriteExt;

use super::ending::{Ending, heard};
use super::scene::Scene;

/// Sends all `bytes`, whether or not the gateway reads them, and listens meanwhile.
pub async fn flood(scene: &Scene, number: u64, bytes: Vec<u8>) -> Ending {
    let dialed = match scene.enter(number, number).await {
        Ok(dialed) => dialed,
        Err(error) => return error.into(),
    };
    let (mut reader, mut writer) = dialed.stream.into_split();
    let mut ending = std::pin::pin!(heard(&mut reader, dialed.rest, |_| None));
    tokio::select! {
        ending = &mut ending => ending,
        // If the sending fails, the reading half tells why.
        _ = writer.write_all(&bytes) => ending.await,
    }
}
