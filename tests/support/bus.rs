//! Publishing as the relay does it, one call at a time.

use heartline::model::rewards::claim::Claim;
use heartline::storage::delivery::{Delivery, Receipt};
use heartline::storage::event_bus::{Event, EventBus};
use tokio::sync::mpsc::unbounded_channel;

/// Hands all over in one call, and waits for their reports: the first failure, if there is one.
pub async fn publish(bus: &dyn EventBus, claims: impl IntoIterator<Item = Claim>) -> Result<(), String> {
    let (receipts, mut reports) = unbounded_channel();
    let events = claims.into_iter().zip(1..);
    bus.publish(
        events.map(|(claim, number)| Event { claim, receipt: Receipt::new(number, receipts.clone()) }).collect(),
    );
    drop(receipts);
    let mut published = Ok(());
    while let Some(report) = reports.recv().await {
        if let (Delivery::Refused(why) | Delivery::Unknown(why), Ok(())) = (report.delivery, &published) {
            published = Err(why);
        }
    }
    published
}
