//! The user is kicked.

use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, Stage};

const AWAY: Rule = Rule {
    name: "kicked-stays-away",
    section: "protocol.md#close-codes",
    text: "after a close with 4003 there is no further attempt",
};

pub const SCENARIO: Scenario = Scenario { name: "kicked", rules: &[&AWAY], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(1).await?;
    let mark = stage.mark();
    stage.close(4003, "kicked");
    stage.sleep(3_000).await;
    let attempts = stage.gateway.log().after(mark).attempts().len();
    let found = match attempts {
        0 => Ok(()),
        _ => Err(Fault::new("no attempt after 4003", format!("{attempts} in 3 s"))),
    };
    stage.judge(&AWAY, found);
    Ok(())
}
