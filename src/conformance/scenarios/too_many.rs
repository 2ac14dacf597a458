//! The user has too many connections: the gateway closes this one.

use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const WAITS: Rule = Rule {
    name: "too-many-waits-for-the-viewer",
    section: "protocol.md#close-codes",
    text: "after a close with 4004 there is no attempt until the user acts",
};
const RETURNS: Rule = Rule {
    name: "the-viewer-reconnects",
    section: "protocol.md#close-codes",
    text: "after 4004, the next act of the user makes an attempt",
};

pub const SCENARIO: Scenario =
    Scenario { name: "too-many", rules: &[&WAITS, &RETURNS], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(1).await?;
    let mark = stage.mark();
    stage.close(4004, "too many connections");
    stage.sleep(2_500).await;
    let attempts = |log: &crate::log::Log| log.after(mark).attempts().len();
    let early = attempts(&stage.gateway.log());
    let seen = format!("{early} in 2.5 s");
    stage.judge(&WAITS, (early == 0).then_some(()).ok_or_else(|| Fault::new("no attempt after 4004", seen)));
    stage.seek(300_000).await?;
    let back = stage.until(SOON, |log| (attempts(log) > 0).then_some(())).await;
    stage.judge(&RETURNS, back.ok_or_else(|| Fault::new("an attempt after the viewer's seek", "none")));
    Ok(())
}
