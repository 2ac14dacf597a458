//! Another device starts to play the same content.

use serde_json::json;

use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const HOLDS: Rule = Rule {
    name: "elsewhere-holds-beats",
    section: "clients.md#another-device",
    text: "after a pushed record of another session that is `playing`, no beat is made until the viewer acts; a pause is no act",
};
const RETURNS: Rule = Rule {
    name: "viewer-takes-back",
    section: "clients.md#another-device",
    text: "when the viewer starts playback here, beats are made again",
};

pub const SCENARIO: Scenario =
    Scenario { name: "elsewhere", rules: &[&HOLDS, &RETURNS], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(2).await?;
    let record = stage.other_device(stage.oid, 450_000, 0);
    stage.gateway.store(&record);
    stage.send("push", json!({"record": record}));
    stage.settle().await;
    let mark = stage.mark();
    stage.sleep(1_200).await;
    stage.does("pause").await?;
    stage.sleep(1_200).await;
    let made = stage.beats_since(mark).into_iter().next();
    stage.judge(&HOLDS, made.map_or(Ok(()), |beat| Err(Fault::new("no beat before the viewer acts", beat.shown()))));
    let mark = stage.mark();
    stage.play().await?;
    let back = stage.until(SOON, |log| log.after(mark).beats().into_iter().next()).await;
    stage.judge(&RETURNS, back.map(|_| ()).ok_or_else(|| Fault::new("a beat of the viewer's start", "none")));
    Ok(())
}
