//! The gateway drains, and says when to come back.

use serde_json::json;

use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const LATER: Rule = Rule {
    name: "drained-comes-back-as-told",
    section: "clients.md#reconnecting",
    text: "after `bye` the next attempt is made after `reconnect_after`",
};

pub const SCENARIO: Scenario = Scenario { name: "drain", rules: &[&LATER], play: |stage| Box::pin(play(stage)) };

/// The time that a token and a request may take.
const LATE_MS: u64 = 3_000;

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(1).await?;
    let wait = stage.random(1_500, 2_500);
    let mark = stage.mark();
    stage.send("bye", json!({"reason": "drain", "reconnect_after": wait}));
    stage.sleep(100).await;
    let closed_at = stage.gateway.ms();
    stage.close(1012, "drain");
    let next = |log: &crate::log::Log| log.after(mark).attempts().first().map(|(_, ms, _)| *ms);
    let attempt = stage.until(wait + SOON, next).await;
    let expected = format!("an attempt {wait} to {} ms after the close", wait + LATE_MS);
    let found = match attempt {
        Some(ms) if (wait - 150..wait + LATE_MS).contains(&ms.saturating_sub(closed_at)) => Ok(()),
        Some(ms) => Err(Fault::new(expected, format!("after {} ms", ms.saturating_sub(closed_at)))),
        None => Err(Fault::new(expected, "none")),
    };
    stage.judge(&LATER, found);
    Ok(())
}
