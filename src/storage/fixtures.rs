//! Fixtures for the tests of this crate and of those above.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tokio::sync::mpsc::unbounded_channel;

use crate::delivery::{Delivery, Receipt};
use crate::event_bus::part::Part;
use crate::event_bus::source::{Cursors, LogMark, Marks};
use crate::event_bus::{Event, EventBus, EventTopic, Offset};
use crate::store_error::Answer;
use model::cloud_event::CloudEvent;

/// Publishes all events in one call, and returns their deliveries in the order of the events.
pub async fn publish(bus: &dyn EventBus, events: Vec<CloudEvent>) -> Vec<Delivery> {
    let (receipts, mut reports) = unbounded_channel();
    let event = |(cloud_event, number)| {
        let receipt = Receipt::new(number, receipts.clone());
        Event { topic: EventTopic::Rewards, cloud_event, receipt }
    };
    bus.publish(events.into_iter().zip(1..).map(event).collect());
    drop(receipts);
    let mut all = Vec::new();
    while let Some(report) = reports.recv().await {
        all.push(report);
    }
    all.sort_by_key(|report| report.number);
    all.into_iter().map(|report| report.delivery).collect()
}

/// Forgotten with the process.
#[derive(Default)]
pub struct MemoryMarks {
    cursors: Mutex<BTreeMap<Part, Offset>>,
    marks: Mutex<BTreeMap<Part, LogMark>>,
}

impl Cursors for MemoryMarks {
    fn cursor(&self, part: Part) -> Answer<Offset> {
        let at = self.cursors.lock().get(&part).copied().unwrap_or_default();
        Box::pin(async move { Ok(at) })
    }

    fn move_cursor(&self, part: Part, to: Offset) -> Answer<()> {
        self.cursors.lock().insert(part, to);
        Box::pin(async { Ok(()) })
    }
}

impl Marks for MemoryMarks {
    fn mark(&self, part: Part) -> Answer<Option<LogMark>> {
        let mark = self.marks.lock().get(&part).copied();
        Box::pin(async move { Ok(mark) })
    }

    fn keep_mark(&self, part: Part, mark: LogMark) -> Answer<()> {
        self.marks.lock().insert(part, mark);
        Box::pin(async { Ok(()) })
    }
}
