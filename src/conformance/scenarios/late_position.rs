//! The gateway takes its time to say where the viewer was, and at first it cannot.

use crate::beat::Beat;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const HELD: Rule = Rule {
    name: "no-beat-before-the-position-is-known",
    section: "clients.md#start-of-playback",
    text: "until the `get` of the start is answered, no beat is sent that could replace the stored position",
};
const PARTIAL: Rule = Rule {
    name: "partial-is-no-answer",
    section: "clients.md#start-of-playback",
    text: "after a `null` with `partial` the beats stay back, and it is asked again",
};

pub const SCENARIO: Scenario =
    Scenario { name: "late-position", rules: &[&HELD, &PARTIAL], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    let place = stage.watched_elsewhere();
    stage.gateway.change(|behavior| behavior.holds_reads = true);
    stage.start().await?;
    stage.play().await?;
    let asked = stage.until(SOON, |log| (log.reads() > 0 || !log.beats().is_empty()).then_some(())).await;
    asked.ok_or_else(|| crate::stage::Stop("neither a get nor a beat".into()))?;
    stage.sleep(1_500).await;
    let early = stage.beats_since(0);
    stage.judge(&HELD, none(&early, "no beat before the answer"));
    let (mark, reads) = (stage.mark(), stage.gateway.log().reads());
    stage.gateway.answer_reads(true, false);
    let again = stage.until(SOON, |log| (log.reads() > reads).then_some(())).await;
    stage.sleep(300).await;
    let unknown = if early.is_empty() { stage.beats_since(mark) } else { Vec::new() };
    stage.gateway.change(|behavior| behavior.holds_reads = false);
    stage.gateway.answer_reads(false, false);
    let found = none(&unknown, "no beat after `partial`");
    stage.judge(&PARTIAL, found.and_then(|()| again.ok_or_else(|| Fault::new("a second get", "none"))));
    let _ = stage.until(SOON, |log| log.beats().into_iter().find(|beat| beat.pos() >= place)).await;
    Ok(())
}

fn none(beats: &[Beat], expected: &str) -> Result<(), Fault> {
    beats.first().map_or(Ok(()), |beat| Err(Fault::new(expected, beat.shown())))
}
