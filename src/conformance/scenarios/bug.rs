//! The gateway closes because of a bug of the client.

use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, Stage};

const AWAY: Rule = Rule {
    name: "a-bug-stays-away",
    section: "protocol.md#close-codes",
    text: "after a close with a code that means a bug (4000) there is no further attempt",
};

pub const SCENARIO: Scenario = Scenario { name: "bug", rules: &[&AWAY], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(1).await?;
    let mark = stage.mark();
    stage.close(4000, "three invalid frames");
    stage.sleep(3_000).await;
    let attempts = stage.gateway.log().after(mark).attempts().len();
    let found = match attempts {
        0 => Ok(()),
        _ => Err(Fault::new("no attempt after 4000", format!("{attempts} in 3 s"))),
    };
    stage.judge(&AWAY, found);
    Ok(())
}
