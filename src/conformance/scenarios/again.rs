//! The gateway closes for reasons that pass: it is busy, or the client was too fast, or silent.

use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const AGAIN: Rule = Rule {
    name: "comes-back-where-it-helps",
    section: "protocol.md#close-codes",
    text: "after a close with 1013, 4008 or 4010 the client connects again, and goes on",
};

pub const SCENARIO: Scenario = Scenario { name: "again", rules: &[&AGAIN], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(1).await?;
    for (code, reason) in [(1013, "the store did not answer"), (4008, "too many frames"), (4010, "silence")] {
        let number = stage.gateway.newest();
        stage.close(code, reason);
        let goes_on = |log: &crate::log::Log| log.beats().into_iter().find(|beat| beat.connection > number);
        if stage.until(SOON, goes_on).await.is_none() {
            let attempts = stage.gateway.log().attempts().len() - number;
            let seen = format!("{attempts} attempts and no beat in {SOON} ms");
            stage.judge(&AGAIN, Err(Fault::new(format!("beats over a new connection after {code}"), seen)));
            return Ok(());
        }
    }
    stage.judge(&AGAIN, Ok(()));
    Ok(())
}
