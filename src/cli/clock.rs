//! `heartline clock`: shows whether the gateway on this machine believes the wall clock, and accepts a step of it.

use std::time::{Duration, UNIX_EPOCH};

use serde::Deserialize;

use super::gateway::{self, Gateway, GatewayError};
use crate::config::Config;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Milliseconds; the clocks since 1970.
#[derive(Deserialize)]
struct Clocks {
    wall: u64,
    server: u64,
    step: Option<i64>,
}

/// Both clocks, as text. `accept`: accepts the wall clock, whatever it was before.
pub fn report(config: &Config, accept: bool) -> Result<String, GatewayError> {
    let gateway = Gateway::control(config)?;
    let answer = gateway::runtime()?.block_on(async {
        match accept {
            true => gateway.post("/v1/clock/accept", ANSWER_TIMEOUT).await,
            false => gateway.get("/v1/clock", ANSWER_TIMEOUT).await,
        }
    })?;
    let clocks = serde_json::from_slice(&answer).map_err(|error| gateway.strange(&error))?;
    Ok(written(&clocks))
}

fn written(Clocks { wall, server, step }: &Clocks) -> String {
    let [wall, server] =
        [wall, server].map(|ms| humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(*ms)));
    let verdict = match step {
        None => "the wall clock is believed".to_owned(),
        Some(step) => {
            let by = humantime::format_duration(Duration::from_secs(step.unsigned_abs() / 1_000));
            let side = if *step > 0 { "forward" } else { "back" };
            format!(
                "the wall clock stepped {side} by {by}, and is not believed; if it is right: heartline clock --accept"
            )
        }
    };
    format!("wall clock:      {wall}\ngateway's clock: {server}\n{verdict}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_step_is_printed_with_the_command_that_accepts_it() {
        let (wall, server) = (1_795_431_600_000, 1_795_410_000_000);
        let text = written(&Clocks { wall, server, step: Some(21_600_000) });
        assert!(text.contains("wall clock:      2026-11-23T"), "{text}");
        assert!(text.contains("stepped forward by 6h") && text.contains("heartline clock --accept"), "{text}");
        assert!(written(&Clocks { wall, server, step: Some(-600_000) }).contains("stepped back by 10m"));
        assert!(written(&Clocks { wall, server, step: None }).contains("is believed"));
    }
}
