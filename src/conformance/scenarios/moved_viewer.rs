//! The viewer seeks before it is known where they were.

use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, Stage};

const STAYS: Rule = Rule {
    name: "a-viewer-who-seeked-stays",
    section: "clients.md#start-of-playback",
    text: "who has seeked meanwhile is not taken to the stored position",
};

pub const SCENARIO: Scenario = Scenario { name: "moved-viewer", rules: &[&STAYS], play: |stage| Box::pin(play(stage)) };

const THERE: u64 = 400_000;

async fn play(stage: &mut Stage) -> Played {
    stage.watched_elsewhere();
    stage.gateway.change(|behavior| behavior.holds_reads = true);
    stage.start().await?;
    stage.play().await?;
    stage.need("get", |log| (log.reads() > 0).then_some(())).await?;
    stage.sleep(400).await;
    stage.seek(THERE).await?;
    stage.sleep(400).await;
    let mark = stage.mark();
    stage.gateway.change(|behavior| behavior.holds_reads = false);
    stage.gateway.answer_reads(false, false);
    stage.need_beats("where the viewer is", mark, 2).await?;
    let beats = stage.beats_since(mark);
    let newest = beats.iter().max_by_key(|beat| beat.at()).filter(|beat| beat.pos() < THERE);
    let fault = |beat: &crate::beat::Beat| Fault::new(format!("a newest beat from {THERE} on"), beat.shown());
    stage.judge(&STAYS, newest.map_or(Ok(()), |beat| Err(fault(beat))));
    Ok(())
}
