//! Publishing as the relay does it, one call at a time.

use heartline::model::cloud_event::Source;
use heartline::model::content_name::ContentTexts;
use heartline::model::rewards::claim::Claim;
use heartline::storage::delivery::{Delivery, Receipt};
use heartline::storage::event_bus::{Event, EventBus, EventTopic};
use tokio::sync::mpsc::unbounded_channel;

/// The name of the deployment whose events these are.
pub const DEPLOYMENT: &str = "test-1";

/// Hands all over in one call, and waits for their reports: the first failure, if there is one.
pub async fn publish(bus: &dyn EventBus, claims: impl IntoIterator<Item = Claim>) -> Result<(), String> {
    let ((receipts, mut reports), source) = (unbounded_channel(), Source::of(DEPLOYMENT));
    let event = |(claim, number): (Claim, u64)| {
        let receipt = Receipt::new(number, receipts.clone());
        Event { topic: EventTopic::Rewards, cloud_event: claim.event(None, ContentTexts::NONE, &source), receipt }
    };
    bus.publish(claims.into_iter().zip(1..).map(event).collect());
    drop(receipts);
    let mut published = Ok(());
    while let Some(report) = reports.recv().await {
        if let (Delivery::Refused(why) | Delivery::Unknown(why), Ok(())) = (report.delivery, &published) {
            published = Err(why);
        }
    }
    published
}
