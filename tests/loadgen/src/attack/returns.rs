//! Clients that reconnect again and again, and crowds that connect at once.

use super::ending::{Ending, heard};
use super::scene::Scene;

/// Connects, is welcomed, and closes.
pub async fn come_and_go(scene: &Scene, number: u64) -> Ending {
    match scene.enter(number, number).await {
        Ok(_) => Ending::Welcomed,
        Err(error) => error.into(),
    }
}

/// Opens another connection of the same user, which stays.
pub async fn crowd_in(scene: &Scene, number: u64) -> Ending {
    match scene.enter(number, 0).await {
        Ok(mut dialed) => heard(&mut dialed.stream, dialed.rest, |_| None).await,
        Err(error) => error.into(),
    }
}
