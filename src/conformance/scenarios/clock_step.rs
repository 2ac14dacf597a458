//! The clock of the next welcome is 4 s behind.

use std::collections::BTreeMap;

use crate::beat::Beat;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, Stage};

const INCREASES: Rule = Rule {
    name: "at-increases-within-a-session",
    section: "clients.md#time-at",
    text: "a new beat has a greater `at` than all earlier ones of its session, by 1 ms if the clock went back a little",
};

pub const SCENARIO: Scenario =
    Scenario { name: "clock-step", rules: &[&INCREASES], play: |stage| Box::pin(play(stage)) };

/// Less than what takes a new session.
const STEP: i64 = -4_000;

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(2).await?;
    stage.step_clock(STEP);
    let mark = stage.mark();
    let first = stage.cut();
    stage.need_connection(first).await?;
    stage.need_beats("the new connection", mark, 3).await?;
    stage.judge(&INCREASES, increases(&stage.beats_since(0)));
    Ok(())
}

/// The `at` of each session rises. A beat that is sent again does not count.
fn increases(beats: &[Beat]) -> Result<(), Fault> {
    let mut sessions: BTreeMap<u64, Vec<&Beat>> = BTreeMap::new();
    for beat in beats {
        let earlier = sessions.entry(beat.session()).or_default();
        let is_again = earlier.iter().any(|before| before.says_the_same(beat));
        let last = earlier.iter().map(|before| before.at()).max().unwrap_or_default();
        if !is_again && beat.at() <= last {
            return Err(Fault::new(format!("an `at` above {last}"), beat.shown()));
        }
        earlier.push(beat);
    }
    Ok(())
}
