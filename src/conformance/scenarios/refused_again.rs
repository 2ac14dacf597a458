//! Every token is refused, for the same reason.

use crate::behavior::Admission;
use crate::log::Log;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, Stage};

const WAITS: Rule = Rule {
    name: "refused-twice-waits",
    section: "clients.md#tokens",
    text: "if another token is refused for the same reason, the next attempt is made after 5 s",
};

pub const SCENARIO: Scenario =
    Scenario { name: "refused-again", rules: &[&WAITS], play: |stage| Box::pin(play(stage)) };

/// The wait is 5 s.
const EARLY_MS: u64 = 4_500;
const LATE_MS: u64 = 10_000;

async fn play(stage: &mut Stage) -> Played {
    stage.gateway.change(|behavior| behavior.admission = Admission::RefuseToken);
    stage.start().await?;
    stage.play().await?;
    let refused_at = stage.need("second attempt", |log| attempt(log, 1)).await?;
    let third = |log: &Log| attempt(log, 2);
    let after = stage.until(LATE_MS, third).await.map(|ms| ms.saturating_sub(refused_at));
    let expected = "an attempt 5 s after the second refusal";
    let found = match after {
        Some(EARLY_MS..) => Ok(()),
        Some(early) => Err(Fault::new(expected, format!("after {early} ms"))),
        None => Err(Fault::new(expected, format!("none in {LATE_MS} ms"))),
    };
    stage.judge(&WAITS, found);
    Ok(())
}

/// When it was made.
fn attempt(log: &Log, index: usize) -> Option<u64> {
    log.attempts().get(index).map(|(_, ms, _)| *ms)
}
