//! A beat is superseded by the record of another device.

use serde_json::json;

use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, Stage};

const STOPS: Rule = Rule {
    name: "superseded-stops",
    section: "clients.md#another-device",
    text: "after `superseded` by a record of another session, no beat is made until the viewer acts",
};

pub const SCENARIO: Scenario = Scenario { name: "superseded", rules: &[&STOPS], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(2).await?;
    stage.holds_acks(true);
    let mark = stage.mark();
    let beat = stage.need_beats("a client that plays", mark, 1).await?.remove(0);
    let record = stage.other_device(stage.oid, 450_000, 0);
    stage.gateway.store(&record);
    let rejected = json!([{"seq": beat.seq, "index": beat.index, "reason": "superseded", "record": record}]);
    stage.gateway.ack(stage.gateway.newest(), beat.seq, json!({"rejected": rejected}));
    stage.holds_acks(false);
    stage.settle().await;
    let mark = stage.mark();
    stage.sleep(1_800).await;
    let made = stage.beats_since(mark).into_iter().next();
    stage.judge(&STOPS, made.map_or(Ok(()), |beat| Err(Fault::new("no beat before the viewer acts", beat.shown()))));
    Ok(())
}
