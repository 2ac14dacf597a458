//! The viewer clears a history whose newest record is a little ahead of the clock.

use super::deletes::{AHEAD_MS, covers};
use crate::log::Log;
use crate::rule::Rule;
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const COVERS: Rule = Rule {
    name: "clear-covers-what-is-shown",
    section: "clients.md#time-at",
    text: "`at` of a clear is the later of the clock and the newest `at` on the screen",
};

pub const SCENARIO: Scenario = Scenario { name: "clears", rules: &[&COVERS], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    let record = stage.other_device(stage.oid, 300_000, -AHEAD_MS);
    stage.gateway.store(&record);
    stage.start().await?;
    stage.need_connection(0).await?;
    stage.does("clear").await?;
    let cleared = |log: &Log| log.removed_at("clear", |path| path == "DELETE /v1/history");
    let cleared = stage.until(SOON, cleared).await;
    stage.judge(&COVERS, covers("clear", &record, cleared));
    Ok(())
}
