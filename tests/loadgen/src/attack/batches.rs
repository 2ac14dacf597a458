//! Clients that were offline for long and send all their beats at once.

use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep_until};

use super::super::answer;
use super::super::text::write_beats;
use super::super::viewer::Beat;
use super::super::wire::{self, Opcode};
use super::ending::{Ending, heard};
use super::scene::Scene;

/// The most beats of one frame.
const BEATS: u32 = 500;
/// The time between two beats.
const APART_MS: u64 = 5_000;

/// Sends an offline batch in one frame at `moment`, together with all other clients, and waits for its ack.
pub async fn outbox(scene: &Scene, number: u64, moment: Instant) -> Ending {
    let mut dialed = match scene.enter(number, number).await {
        Ok(dialed) => dialed,
        Err(error) => return error.into(),
    };
    let frame = frame(scene, number, dialed.welcome.now);
    sleep_until(moment).await;
    if let Err(error) = dialed.stream.write_all(&frame).await {
        return error.kind().into();
    }
    heard(&mut dialed.stream, dialed.rest, |text| {
        if answer::plain_ack(text).is_some() {
            return Some(Ending::Acked);
        }
        let said = answer::read(text)?;
        (said.ack.is_some() || said.error.is_some()).then_some(Ending::Rejected)
    })
    .await
}

fn frame(scene: &Scene, number: u64, now: u64) -> Vec<u8> {
    let beat = |content: u32| {
        let ago = u64::from(BEATS - content) * APART_MS;
        Beat { content, played: ago, at: now - ago }
    };
    let beats: Vec<_> = (1..=BEATS).map(beat).collect();
    let (mut text, mut frame) = (Vec::new(), Vec::new());
    write_beats(1, &beats, None, &scene.names(number), &mut text);
    wire::push(Opcode::Text, &text, scene.mask(), &mut frame);
    frame
}
