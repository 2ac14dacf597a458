//! Two reads are answered in the other order.

use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, Stage};

const MATCHED: Rule = Rule {
    name: "answers-matched-by-seq",
    section: "protocol.md#client-frames",
    text: "an answer belongs to the frame that its `seq` names, whatever came before",
};

pub const SCENARIO: Scenario = Scenario { name: "reordered", rules: &[&MATCHED], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    let other = stage.oid - 1;
    let [first, second] = [(stage.oid, 450_000), (other, 120_000)];
    for (oid, pos) in [first, second] {
        let record = stage.other_device(oid, pos, 60_000);
        stage.gateway.store(&record);
    }
    stage.gateway.change(|behavior| behavior.holds_reads = true);
    stage.start().await?;
    stage.play().await?;
    stage.need("get", |log| (log.reads() > 0).then_some(())).await?;
    stage.play_content(other).await?;
    // A client that asks one after the other waits for the first answer, and gets it.
    let _ = stage.until(1_500, |log| (log.reads() > 1).then_some(())).await;
    let mark = stage.mark();
    stage.gateway.change(|behavior| behavior.holds_reads = false);
    stage.gateway.answer_reads(false, true);
    stage.need_beats("the second content", mark, 2).await?;
    let beats = stage.beats_since(mark);
    let place = second.1..second.1 + 10_000;
    let wrong = beats.iter().find(|beat| beat.oid() == other && !place.contains(&beat.pos()));
    let expected = format!("content {other} from {} on, as its own answer says", second.1);
    stage.judge(&MATCHED, wrong.map_or(Ok(()), |beat| Err(Fault::new(expected, beat.shown()))));
    Ok(())
}
