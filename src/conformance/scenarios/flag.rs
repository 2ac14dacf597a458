//! The day's rewards are decided while the client plays.

use serde_json::{Value, json};

use crate::log::Log;
use crate::number::day;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const HONOURED: Rule = Rule {
    name: "flag-is-honoured",
    section: "clients.md#rewards-and-the-flag",
    text: "the newest `flag` is in every frame of beats, also after a reconnect",
};
const MADE_UP: Rule = Rule {
    name: "flag-is-not-made-up",
    section: "clients.md#rewards-and-the-flag",
    text: "without a flag of the server none is sent",
};

pub const SCENARIO: Scenario =
    Scenario { name: "flag", rules: &[&HONOURED, &MADE_UP], play: |stage| Box::pin(play(stage)) };

const DAY_MS: i64 = 86_400_000;

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(2).await?;
    let early = flags(&stage.gateway.log()).into_iter().find(|flag| !flag.is_null());
    stage.judge(&MADE_UP, early.map_or(Ok(()), |flag| Err(Fault::new("no flag", flag.to_string()))));
    let today = day(stage.gateway.now());
    stage.gateway.change(|behavior| behavior.flag = Some(today.clone()));
    let found = sent(stage, &today).await;
    stage.judge(&HONOURED, found);
    Ok(())
}

async fn sent(stage: &mut Stage, today: &str) -> Result<(), Fault> {
    let mark = stage.mark();
    let has_it = |log: &Log| flags(&log.after(mark)).into_iter().find(|flag| flag == today);
    let fault = |what: &str, log: &Log| {
        let last = flags(log).pop().unwrap_or_default();
        Fault::new(format!("flag {today} {what}"), format!("flag {last}"))
    };
    if stage.until(SOON, has_it).await.is_none() {
        return Err(fault("from an ack", &stage.gateway.log()));
    }
    stage.gateway.change(|behavior| behavior.flag = None);
    stage.send("push", json!({"flag": day(stage.gateway.now() - DAY_MS)}));
    stage.settle().await;
    for what in ["after a push of yesterday's", "after a reconnect"] {
        let mark = stage.mark();
        let _ = stage.until(SOON, |log| (flags(&log.after(mark)).len() >= 2).then_some(())).await;
        let later = stage.gateway.log().after(mark);
        if flags(&later).is_empty() || flags(&later).iter().any(|flag| flag != today) {
            return Err(fault(what, &later));
        }
        if what != "after a reconnect" {
            let number = stage.cut();
            let _ = stage.need_connection(number).await;
        }
    }
    Ok(())
}

fn flags(log: &Log) -> Vec<Value> {
    log.beat_frames().map(|(_, frame)| frame["beats"]["flag"].clone()).collect()
}
