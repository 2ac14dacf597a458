//! The event that tells of an entry of the outbox.

use model::cloud_event::Source;
use model::outbox_entry::OutboxEntry;
use storage::delivery::Receipt;
use storage::event_bus::{Event, EventTopic};

pub fn of(entry: &OutboxEntry, source: &Source, receipt: Receipt) -> Event {
    let (topic, cloud_event) = match entry {
        OutboxEntry::Claim(claim) => (EventTopic::Rewards, claim.event(source)),
        OutboxEntry::Crossing(crossing) => (EventTopic::Rewards, crossing.event(source)),
    };
    Event { topic, cloud_event, receipt }
}
