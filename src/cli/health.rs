//! `heartline health`: whether the gateway on this machine is ready, for a container's health check.

use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;

use super::gateway::{self, Gateway, GatewayError};
use crate::config::Config;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// The body of `/readyz` of a gateway that is not ready.
#[derive(Deserialize)]
struct NotReady {
    reasons: Vec<String>,
}

/// `Err`: one line that tells why the gateway is not ready.
pub fn check(config: &Config) -> Result<(), String> {
    let answer = || {
        let gateway = Gateway::probes(config)?;
        gateway::runtime()?.block_on(gateway.probe("/readyz", ANSWER_TIMEOUT))
    };
    let (status, body) = answer().map_err(|error: GatewayError| error.to_string())?;
    match status {
        StatusCode::OK => Ok(()),
        StatusCode::SERVICE_UNAVAILABLE => {
            let reasons = serde_json::from_slice(&body).map_or_else(|_| Vec::new(), |NotReady { reasons }| reasons);
            Err(format!("not ready: {}", reasons.join("; ")))
        }
        _ => Err(format!("/readyz answers {status}: admin.listen is not that of a gateway")),
    }
}
