//! `heartline reload`: the gateway reads its keys, certificates and country file again.

use std::time::Duration;

use serde::Deserialize;

use super::gateway::{self, Gateway, GatewayError};
use crate::config::Config;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
struct Reloaded {
    reloaded: Vec<String>,
}

/// One line for each thing that was read. Fails with what cannot be used, which stays as it was.
pub fn run(config: &Config) -> Result<String, GatewayError> {
    let gateway = Gateway::control(config)?;
    let answer = gateway::runtime()?.block_on(gateway.post("/v1/reload", ANSWER_TIMEOUT))?;
    let Reloaded { reloaded } = serde_json::from_slice(&answer).map_err(|error| gateway.strange(&error))?;
    Ok(reloaded.iter().map(|what| format!("{what} reloaded\n")).collect())
}
