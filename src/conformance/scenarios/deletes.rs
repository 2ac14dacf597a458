//! The viewer deletes a content whose record is a little ahead of the clock.

use serde_json::Value;

use crate::log::Log;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const COVERS: Rule = Rule {
    name: "delete-covers-what-is-shown",
    section: "clients.md#time-at",
    text: "`at` of a delete is the later of the clock and the newest `at` on the screen",
};

pub const SCENARIO: Scenario = Scenario { name: "deletes", rules: &[&COVERS], play: |stage| Box::pin(play(stage)) };

/// Of the newest record.
pub const AHEAD_MS: i64 = 4_500;

async fn play(stage: &mut Stage) -> Played {
    let record = stage.other_device(stage.oid, 300_000, -AHEAD_MS);
    stage.gateway.store(&record);
    stage.start().await?;
    stage.need_connection(0).await?;
    stage.delete().await?;
    let deleted = |log: &Log| log.removed_at("delete", |path| path.starts_with("DELETE /v1/history/"));
    let deleted = stage.until(SOON, deleted).await;
    stage.judge(&COVERS, covers("delete", &record, deleted));
    Ok(())
}

/// Whether what was removed then includes the record.
pub fn covers(what: &str, record: &Value, removed: Option<Option<u64>>) -> Result<(), Fault> {
    let shown = record["at"].as_u64().unwrap_or_default();
    let expected = format!("a {what} with an `at` of at least {shown}");
    match removed {
        // Without `at` the gateway takes the later one itself.
        Some(None) => Ok(()),
        Some(Some(at)) if at >= shown => Ok(()),
        Some(Some(at)) => Err(Fault::new(expected, format!("at {at}"))),
        None => Err(Fault::new(expected, "none")),
    }
}
