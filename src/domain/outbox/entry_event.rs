//! The event that tells of an entry of the outbox.

use model::cloud_event::Source;
use model::content_name::ContentTexts;
use model::outbox_entry::OutboxEntry;
use model::user_name::UserName;
use storage::delivery::Receipt;
use storage::event_bus::{Event, EventTopic};

/// `name`: of the user, if it is known; `texts`: of the content.
pub fn of(
    entry: &OutboxEntry,
    name: Option<&UserName>,
    texts: &ContentTexts,
    source: &Source,
    receipt: Receipt,
) -> Event {
    let (topic, cloud_event) = match entry {
        OutboxEntry::Claim(claim) => (EventTopic::Rewards, claim.event(name, texts, source)),
        OutboxEntry::Crossing(crossing) => (EventTopic::Rewards, crossing.event(source)),
    };
    Event { topic, cloud_event, receipt }
}
