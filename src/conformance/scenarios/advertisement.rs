//! An advertisement plays in the same player.

use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const CONTENT: Rule = Rule {
    name: "an-advertisement-is-not-the-content",
    section: "clients.md#advertisements-and-other-media-in-the-element",
    text: "what plays in between is not reported as the content, and afterwards the content is reported again",
};

pub const SCENARIO: Scenario =
    Scenario { name: "advertisement", rules: &[&CONTENT], play: |stage| Box::pin(play(stage)) };

const AD_MS: u64 = 1_500;

async fn play(stage: &mut Stage) -> Played {
    let place = stage.watched_elsewhere();
    stage.start_playing(1).await?;
    let mark = stage.mark();
    stage.advertise(AD_MS).await?;
    let after = stage.mark();
    let more = stage.until(SOON, |log| (log.after(after).beats().len() >= 2).then_some(())).await;
    let beats = stage.beats_since(mark);
    let of_the_ad = beats.iter().find(|beat| beat.pos() < place);
    let found = match (of_the_ad, more) {
        (Some(beat), _) => Err(Fault::new(format!("positions from {place} on"), beat.shown())),
        (None, None) => Err(Fault::new("beats after the advertisement", format!("fewer than 2 in {SOON} ms"))),
        (None, Some(())) => Ok(()),
    };
    stage.judge(&CONTENT, found);
    Ok(())
}
