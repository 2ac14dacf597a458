//! The events that a gateway has published.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::time::sleep;

use super::super::admin;
use super::super::target::Target;

const PAGE: usize = 1_000;
/// The longest wait for events, which follow their claims.
const FOLLOW_MAX: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The count of each event, by id.
#[derive(Debug, Default)]
pub struct EventLog(pub HashMap<String, u64>);

#[derive(Deserialize)]
struct Page {
    events: Vec<Entry>,
    next: Option<u64>,
}

#[derive(Deserialize)]
struct Entry {
    event: Event,
}

#[derive(Deserialize)]
struct Event {
    id: String,
}

impl EventLog {
    /// Reads until there are this many events, or no more come.
    pub async fn read(gateway: &Target, wanted: u64) -> Result<Self, String> {
        let mut log = EventLog::default();
        let (mut read, mut after) = (0, 0);
        let give_up = Instant::now() + FOLLOW_MAX;
        loop {
            let body = admin::get(gateway, &format!("/v1/events?limit={PAGE}&after={after}")).await?;
            let page: Page = serde_json::from_str(&body).map_err(|error| format!("/v1/events: {error}"))?;
            let some = page.events.len();
            read += some as u64;
            after = page.next.unwrap_or(after);
            for entry in page.events {
                *log.0.entry(entry.event.id).or_default() += 1;
            }
            if some == PAGE {
                continue;
            }
            if read >= wanted || Instant::now() > give_up {
                return Ok(log);
            }
            sleep(LOOK_EVERY).await;
        }
    }

    pub fn events(&self) -> u64 {
        self.0.values().sum()
    }
}
