//! The server's clock is set back by 20 s: a beat is rejected with `clock`, and the ack says what time it is.

use serde_json::json;

use crate::beat::Beat;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{CLOCK_MS, Played, SOON, Stage};

const REBASES: Rule = Rule {
    name: "rebases-after-clock",
    section: "clients.md#time-at",
    text: "after a rejection with `clock`, `at` goes by the `now` of the ack, and the beat is made anew",
};
const SESSION: Rule = Rule {
    name: "far-behind-is-a-new-session",
    section: "clients.md#time-at",
    text: "if the clock is more than 5 s behind the last `at` of the session, a new one begins",
};

pub const SCENARIO: Scenario =
    Scenario { name: "clock-back", rules: &[&REBASES, &SESSION], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(2).await?;
    stage.holds_acks(true);
    stage.step_clock(-20_000);
    let mark = stage.mark();
    let early = stage.need_beats("the clock before", mark, 1).await?.remove(0);
    let mark = stage.mark();
    let rejected = json!([{"seq": early.seq, "index": early.index, "reason": "clock"}]);
    stage.gateway.ack(stage.gateway.newest(), early.seq, json!({"rejected": rejected, "now": stage.gateway.now()}));
    stage.holds_acks(false);
    let by_the_clock = |beat: &Beat| beat.ahead().abs() <= CLOCK_MS;
    let found = stage.until(SOON, |log| log.after(mark).beats().into_iter().find(by_the_clock)).await;
    let beats = stage.beats_since(mark);
    let last = beats.last().map_or("no beat".to_owned(), Beat::shown);
    stage
        .judge(&REBASES, found.as_ref().map(|_| ()).ok_or_else(|| Fault::new("an `at` by the `now` of the ack", last)));
    if let Some(rebased) = found {
        let expected = format!("another session than {}, since `at` is 20 s below its last", early.session());
        let is_new = rebased.session() != early.session();
        stage.judge(&SESSION, is_new.then_some(()).ok_or_else(|| Fault::new(expected, rebased.shown())));
    }
    Ok(())
}
