//! The other end of the connection is gone, and nothing says so.

use crate::outgoing::Outgoing;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, Stage};

const NOTICED: Rule = Rule {
    name: "half-open-is-noticed",
    section: "clients.md#reconnecting",
    text: "if an answer is owed and nothing comes for `limits.idle`, the client reconnects",
};

pub const SCENARIO: Scenario = Scenario { name: "half-open", rules: &[&NOTICED], play: |stage| Box::pin(play(stage)) };

const IDLE_MS: u64 = 2_000;

async fn play(stage: &mut Stage) -> Played {
    stage.gateway.change(|behavior| behavior.limits["idle"] = IDLE_MS.into());
    let first = stage.start_playing(1).await?.remove(0).connection;
    stage.gateway.order(first, Outgoing::Mute);
    let again = stage.until(2 * IDLE_MS + 3_000, |log| (log.attempts().len() > first).then_some(())).await;
    let expected = format!("another connection after {IDLE_MS} ms without an answer");
    stage.judge(&NOTICED, again.ok_or_else(|| Fault::new(expected, "none")));
    Ok(())
}
