//! The viewer deletes a content whose record is a little ahead of the clock.

use crate::log::{Log, What};
use crate::number::integer;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const COVERS: Rule = Rule {
    name: "delete-covers-what-is-shown",
    section: "clients.md#time-at",
    text: "`at` of a delete is the later of the clock and the newest `at` on the screen",
};

pub const SCENARIO: Scenario = Scenario { name: "deletes", rules: &[&COVERS], play: |stage| Box::pin(play(stage)) };

const AHEAD_MS: i64 = 4_500;

async fn play(stage: &mut Stage) -> Played {
    let record = stage.other_device(stage.oid, 300_000, -AHEAD_MS);
    stage.gateway.store(&record);
    stage.start().await?;
    stage.need_connection(0).await?;
    stage.delete().await?;
    let shown = record["at"].as_u64().unwrap_or_default();
    let deleted = stage.until(SOON, deleted).await;
    let expected = format!("a delete with an `at` of at least {shown}");
    let found = match deleted {
        // Without `at` the gateway takes the later one itself.
        Some(None) => Ok(()),
        Some(Some(at)) if at >= shown => Ok(()),
        Some(Some(at)) => Err(Fault::new(expected, format!("at {at}"))),
        None => Err(Fault::new(expected, "none")),
    };
    stage.judge(&COVERS, found);
    Ok(())
}

/// The `at` of the delete, if there was one.
fn deleted(log: &Log) -> Option<Option<u64>> {
    log.all().iter().find_map(|seen| match &seen.what {
        What::Frame(frame) => frame.get("delete").map(|delete| integer(&delete["at"])),
        What::Request(line, _) if line.starts_with("DELETE /v1/history") => {
            Some(line.split_once("at=").and_then(|(_, at)| at.split('&').next()?.parse().ok()))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::log::Seen;

    #[test]
    fn a_delete_may_come_over_both_ways() {
        let found = |what| {
            let mut log = Log::default();
            log.push(Seen { ms: 0, connection: 1, now: 0, what });
            deleted(&log)
        };
        let line = |line: &str| What::Request(line.to_owned(), Value::Null);
        assert_eq!(found(What::Frame(json!({"seq": 1, "delete": {"items": [], "at": 7}}))), Some(Some(7)));
        assert_eq!(found(line("DELETE /v1/history/1/7?at=5&connection=a")), Some(Some(5)));
        assert_eq!(found(line("DELETE /v1/history/1/7")), Some(None));
        assert_eq!(found(What::Pong), None);
    }
}
