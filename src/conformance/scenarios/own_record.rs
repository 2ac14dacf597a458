//! A beat is superseded by a record that the client has made itself.

use serde_json::json;

use crate::records::record;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const GOES_ON: Rule = Rule {
    name: "own-record-is-not-elsewhere",
    section: "clients.md#another-device",
    text: "`superseded` by a record of the client's own session is no other device: it goes on",
};

pub const SCENARIO: Scenario = Scenario { name: "own-record", rules: &[&GOES_ON], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(2).await?;
    stage.holds_acks(true);
    let mark = stage.mark();
    let beat = stage.need_beats("a client that plays", mark, 1).await?.remove(0);
    // As if it had been sent over HTTP, too, with a later one.
    let mut own = record(&beat.json);
    own["at"] = (beat.at() + 1).into();
    let rejected = json!([{"seq": beat.seq, "index": beat.index, "reason": "superseded", "record": own}]);
    stage.gateway.ack(stage.gateway.newest(), beat.seq, json!({"rejected": rejected}));
    stage.holds_acks(false);
    stage.settle().await;
    let mark = stage.mark();
    let more = stage.until(SOON, |log| (log.after(mark).beats().len() >= 2).then_some(())).await;
    stage.judge(&GOES_ON, more.ok_or_else(|| Fault::new("more beats", format!("fewer than 2 in {SOON} ms"))));
    Ok(())
}
