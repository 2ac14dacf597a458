//! The event that tells of an entry of the outbox.

use model::cloud_event::Source;
use model::outbox_entry::OutboxEntry;
use model::user_name::UserName;
use storage::delivery::Receipt;
use storage::event_bus::{Event, EventTopic};

/// `name`: of the user, if it is known.
pub fn of(entry: &OutboxEntry, name: Option<&UserName>, source: &Source, receipt: Receipt) -> Event {
    let (topic, cloud_event) = match entry {
        OutboxEntry::Claim(claim) => (EventTopic::Rewards, claim.event(name, source)),
        OutboxEntry::Crossing(crossing) => (EventTopic::Rewards, crossing.event(source)),
    };
    Event { topic, cloud_event, receipt }
}
