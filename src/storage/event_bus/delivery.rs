//! What became of an event that was handed to a bus.

use tokio::sync::mpsc::UnboundedSender;

use crate::model::rewards::claim::Claim;
use crate::storage::outbox::OutboxNumber;

/// An event to publish: that of a claim.
#[derive(Debug)]
pub struct Event {
    pub claim: Claim,
    pub receipt: Receipt,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The bus has it, durably.
    Published,
    /// The bus does not have it, and will not get it by itself.
    Refused(String),
    /// The bus may have it.
    Unknown(String),
}

/// The delivery of the event with this number in the outbox.
#[derive(Debug)]
pub struct Report {
    pub number: OutboxNumber,
    pub delivery: Delivery,
}

/// Reports the delivery of one event, exactly once. One that is dropped reports [`Delivery::Unknown`].
#[derive(Debug)]
pub struct Receipt {
    number: OutboxNumber,
    /// None: it has reported.
    reports: Option<UnboundedSender<Report>>,
}

impl Receipt {
    /// There are never more reports than events that were handed over.
    pub fn new(number: OutboxNumber, reports: UnboundedSender<Report>) -> Self {
        Receipt { number, reports: Some(reports) }
    }

    pub fn report(mut self, delivery: Delivery) {
        self.send(delivery);
    }

    fn send(&mut self, delivery: Delivery) {
        if let Some(reports) = self.reports.take() {
            // Without a receiver the process ends.
            let _ = reports.send(Report { number: self.number, delivery });
        }
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        self.send(Delivery::Unknown("the event bus gave it up without a report".to_owned()));
    }
}

#[cfg(test)]
pub mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use crate::storage::event_bus::EventBus;
    use crate::storage::event_bus::cloud_event::tests::claim;

    /// Hands all over in one call; their deliveries, in the order of the claims.
    pub async fn publish(bus: &dyn EventBus, claims: Vec<Claim>) -> Vec<Delivery> {
        let (receipts, mut reports) = unbounded_channel();
        let events = claims.into_iter().zip(1..);
        bus.publish(
            events.map(|(claim, number)| Event { claim, receipt: Receipt::new(number, receipts.clone()) }).collect(),
        );
        drop(receipts);
        let mut all = Vec::new();
        while let Some(report) = reports.recv().await {
            all.push(report);
        }
        all.sort_by_key(|report| report.number);
        all.into_iter().map(|report| report.delivery).collect()
    }

    #[test]
    fn a_receipt_reports_once_even_if_it_is_dropped() {
        let (receipts, mut reports) = unbounded_channel();
        Receipt::new(1, receipts.clone()).report(Delivery::Published);
        drop(Event { claim: claim(1), receipt: Receipt::new(2, receipts) });
        let told: Vec<_> = std::iter::from_fn(|| reports.try_recv().ok()).collect();
        assert_eq!(told.iter().map(|report| report.number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(told[0].delivery, Delivery::Published);
        assert!(matches!(told[1].delivery, Delivery::Unknown(_)));
    }
}
