//! A gateway of a later version: frames and fields that this client cannot know. And a ping.

use serde_json::json;

use crate::log::{Log, What};
use crate::outgoing::Outgoing;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const IGNORES: Rule = Rule {
    name: "ignores-the-unknown",
    section: "protocol.md",
    text: "unknown fields and unknown server frames change nothing",
};
const PONG: Rule =
    Rule { name: "answers-pings", section: "clients.md#reconnecting", text: "a ping is answered with a pong" };

pub const SCENARIO: Scenario =
    Scenario { name: "later-version", rules: &[&IGNORES, &PONG], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    stage.gateway.change(|behavior| behavior.says_more = true);
    let first = stage.start_playing(1).await?.remove(0).connection;
    stage.gateway.order(first, Outgoing::Ping);
    let is_pong = |log: &Log| log.all().iter().any(|seen| matches!(seen.what, What::Pong)).then_some(());
    let pong = stage.until(SOON, is_pong).await;
    stage.judge(&PONG, pong.ok_or_else(|| Fault::new("a pong", format!("none in {SOON} ms"))));
    stage.send("forecast", json!({"rain": [1, 2]}));
    stage.send("push", json!({"weather": {"sun": true}}));
    let mark = stage.mark();
    let goes_on = stage.until(SOON, |log| (log.after(mark).beats_of(first).len() >= 3).then_some(())).await;
    let reconnects = stage.gateway.log().attempts().len() - first;
    let found = goes_on.filter(|()| reconnects == 0);
    let seen = format!("{} beats, {reconnects} reconnects", stage.gateway.log().after(mark).beats_of(first).len());
    stage.judge(&IGNORES, found.ok_or_else(|| Fault::new("beats over the same connection", seen)));
    Ok(())
}
