//! A token that lives for a few seconds.

use crate::log::Log;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, Stage};

const RENEWED: Rule = Rule {
    name: "token-renewed-in-place",
    section: "clients.md#reconnecting",
    text: "before `expires` a new token is sent over the same connection",
};

pub const SCENARIO: Scenario = Scenario { name: "expiring", rules: &[&RENEWED], play: |stage| Box::pin(play(stage)) };

const LIFE_SECONDS: i64 = 8;

async fn play(stage: &mut Stage) -> Played {
    stage.gateway.change(|behavior| behavior.token_seconds = LIFE_SECONDS);
    let first = stage.start_playing(1).await?.remove(0).connection;
    let mark = stage.mark();
    let over = |log: &Log| (log.after(mark).attempts().len() + renewals(&log.after(mark)) > 0).then_some(());
    let _ = stage.until(LIFE_SECONDS as u64 * 1_000 + 500, over).await;
    // Past the end of the first token.
    stage.sleep(2_200).await;
    let log = stage.gateway.log().after(mark);
    let (renewals, attempts) = (renewals(&log), log.attempts().len());
    let found = match (renewals, attempts) {
        (1.., 0) => Ok(()),
        _ => Err(Fault::new(
            format!("a token over connection {first} before its token of {LIFE_SECONDS} s ends"),
            format!("{renewals} renewals and {attempts} reconnects"),
        )),
    };
    stage.judge(&RENEWED, found);
    Ok(())
}

fn renewals(log: &Log) -> usize {
    let is_one = |frame: &serde_json::Value| frame["token"]["token"].is_string() || frame["hello"]["token"].is_string();
    log.frames().filter(|(_, frame)| is_one(frame)).count()
}
