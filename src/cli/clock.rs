//! `heartline clock`: shows whether the gateway on this machine believes the wall clock, and is near the store's; accepts
//! a step of the wall clock.

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
    /// How far the server's clock is ahead of the store's.
    apart: Option<i64>,
    /// They are too far apart.
    off: bool,
}

/// The clocks, as text. `accept`: accepts the wall clock, whatever it was before.
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

fn written(Clocks { wall, server, step, apart, off }: &Clocks) -> String {
    let [wall, server] =
        [wall, server].map(|ms| humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(*ms)));
    let apart = apart.map(|apart| from_store(apart, *off)).unwrap_or_default();
    let verdict = match step {
        None if *off => String::new(),
        None => "the wall clock is believed\n".to_owned(),
        Some(step) => {
            let by = humantime::format_duration(Duration::from_secs(step.unsigned_abs() / 1_000));
            let side = if *step > 0 { "forward" } else { "back" };
            format!(
                "the wall clock stepped {side} by {by}, and is not believed; if it is right: heartline clock --accept\n"
            )
        }
    };
    format!("wall clock:      {wall}\ngateway's clock: {server}\n{apart}{verdict}")
}

/// How far the gateway's clock is from the store's, and what follows.
fn from_store(apart: i64, off: bool) -> String {
    let (ms, side) = (apart.unsigned_abs(), if apart > 0 { "ahead of" } else { "behind" });
    match (off, apart) {
        (true, _) => {
            format!(
                "the gateway's clock is {ms} ms {side} the store's: it serves no client until the clocks are right\n"
            )
        }
        (false, 0) => "the gateway's clock is that of the store\n".to_owned(),
        (false, _) => format!("the gateway's clock is {ms} ms {side} the store's, which is near enough\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALL: u64 = 1_795_431_600_000;

    fn described(step: Option<i64>, apart: Option<i64>, off: bool) -> String {
        written(&Clocks { wall: WALL, server: 1_795_410_000_000, step, apart, off })
    }

    #[test]
    fn a_clock_step_is_printed_with_the_command_that_accepts_it() {
        let text = described(Some(21_600_000), None, false);
        assert!(text.contains("wall clock:      2026-11-23T"), "{text}");
        assert!(text.contains("stepped forward by 6h") && text.contains("heartline clock --accept"), "{text}");
        assert!(described(Some(-600_000), None, false).contains("stepped back by 10m"));
        assert!(described(None, None, false).contains("is believed"));
    }

    #[test]
    fn a_clock_that_is_off_the_stores_is_not_called_believed() {
        let text = described(None, Some(3_000), true);
        assert!(text.contains("3000 ms ahead of the store's: it serves no client"), "{text}");
        assert!(!text.contains("believed"), "{text}");
        assert!(described(None, Some(-1_200), true).contains("1200 ms behind the store's: it serves no client"));
        assert!(described(None, Some(40), false).contains("near enough\nthe wall clock is believed"));
        assert!(described(None, Some(0), false).contains("is that of the store\n"));
        assert!(described(Some(-600_000), Some(600_000), true).contains("heartline clock --accept"));
    }
}
