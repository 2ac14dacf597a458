//! The delivery of a message that was handed to a bus.

use tokio::sync::mpsc::UnboundedSender;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The bus has it, durably.
    Published,
    /// The bus does not have it, and will not get it by itself.
    Refused(String),
    /// The bus may have it.
    Unknown(String),
}

/// The delivery of the message with this number.
#[derive(Debug)]
pub struct Report {
    /// As the receipt has it.
    pub number: u64,
    pub delivery: Delivery,
}

/// Reports the delivery of one message, exactly once. One that is dropped reports [`Delivery::Unknown`].
#[derive(Debug)]
pub struct Receipt {
    number: u64,
    /// None: it has reported.
    reports: Option<UnboundedSender<Report>>,
}

impl Receipt {
    /// There are never more reports than messages that were handed over.
    pub fn new(number: u64, reports: UnboundedSender<Report>) -> Self {
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
        self.send(Delivery::Unknown("the bus gave it up without a report".to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    #[test]
    fn a_receipt_reports_once_even_if_it_is_dropped() {
        let (receipts, mut reports) = unbounded_channel();
        Receipt::new(1, receipts.clone()).report(Delivery::Published);
        drop(Receipt::new(2, receipts));
        let told: Vec<_> = std::iter::from_fn(|| reports.try_recv().ok()).collect();
        assert_eq!(told.iter().map(|report| report.number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(told[0].delivery, Delivery::Published);
        assert!(matches!(told[1].delivery, Delivery::Unknown(_)));
    }
}
