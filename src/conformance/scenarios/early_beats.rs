//! The viewer watches before there is a welcome; the beats of that time go out after it, and once more after a cut.

use crate::beat::Beat;
use crate::behavior::Admission;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, Stage};

const ONCE: Rule = Rule {
    name: "early-beats-are-stamped-once",
    section: "clients.md#time-at",
    text: "a beat made before the first welcome gets its `at` once, at the welcome, and never ahead of `now`",
};

pub const SCENARIO: Scenario = Scenario { name: "early-beats", rules: &[&ONCE], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    stage.gateway.change(|behavior| behavior.admission = Admission::Keep);
    stage.start().await?;
    stage.play().await?;
    stage.need("attempt", |log| (!log.attempts().is_empty()).then_some(())).await?;
    stage.sleep(400).await;
    // A viewer who has moved is where they want to be: their beats are kept.
    stage.seek(200_000).await?;
    stage.sleep(1_600).await;
    stage.holds_acks(true);
    stage.gateway.change(|behavior| behavior.admission = Admission::Welcome);
    let mark = stage.mark();
    let first = stage.gateway.newest();
    stage.gateway.welcome(first);
    stage.need_beats("a client that was welcomed", mark, 2).await?;
    stage.step_clock(30_000);
    let number = stage.cut();
    let second = stage.need_connection(number).await?;
    stage.need_beats("the second connection", stage.mark(), 2).await?;
    let log = stage.gateway.log();
    let found = stamped(&log.beats_of(number), &log.beats_of(second));
    drop(log);
    stage.judge(&ONCE, found);
    Ok(())
}

fn stamped(before: &[Beat], after: &[Beat]) -> Result<(), Fault> {
    if let Some(early) = before.iter().find(|beat| beat.ahead() > 50) {
        return Err(Fault::new("no `at` ahead of the server's clock", early.shown()));
    }
    for beat in before {
        let again = after.iter().find(|again| again.told() == beat.told() && again.at() != beat.at());
        if let Some(again) = again {
            return Err(Fault::new(format!("the same beat as it was: {}", beat.shown()), again.shown()));
        }
    }
    Ok(())
}
