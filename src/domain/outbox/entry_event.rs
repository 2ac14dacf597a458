//! The event that tells of an entry of the outbox.

use crate::model::cloud_event::Source;
use crate::model::outbox_entry::OutboxEntry;
use crate::storage::delivery::Receipt;
use crate::storage::event_bus::{Event, EventTopic};

pub fn of(entry: &OutboxEntry, source: &Source, receipt: Receipt) -> Event {
    let (topic, cloud_event) = match entry {
        OutboxEntry::Claim(claim) => (EventTopic::Rewards, claim.event(source)),
        OutboxEntry::Crossing(crossing) => (EventTopic::Rewards, crossing.event(source)),
    };
    Event { topic, cloud_event, receipt }
}
