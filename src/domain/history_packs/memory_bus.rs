//! A bus in memory, for tests.

use parking_lot::Mutex;

use model::pack::Pack;
use storage::delivery::Delivery;
use storage::history_bus::{HistoryBus, MESSAGE_BYTES_MAX, PackMessage, codec};

/// Keeps the packs that it was given.
#[derive(Default)]
pub struct MemoryBus {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    mood: Mood,
    published: Vec<Pack>,
    waiting: Vec<PackMessage>,
    complaints: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mood {
    #[default]
    Takes,
    Refuses,
    /// Takes each message and says that it is not known.
    Doubts,
    /// Keeps messages, and reports them when it takes them again.
    Waits,
}

impl MemoryBus {
    pub fn becomes(&self, mood: Mood) {
        let waiting = {
            let mut state = self.state.lock();
            state.mood = mood;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(|message| self.publish(message));
    }

    /// Takes one of the messages that wait.
    pub fn takes_one(&self) {
        let mut state = self.state.lock();
        if let Some(PackMessage { bytes, receipt, .. }) = state.waiting.pop() {
            state.published.push(codec::decode(&bytes).expect("a pack"));
            receipt.report(Delivery::Published);
        }
    }

    pub fn complains(&self, complaints: Vec<String>) {
        self.state.lock().complaints = complaints;
    }

    /// The published packs, in order.
    pub fn published(&self) -> Vec<Pack> {
        self.state.lock().published.clone()
    }

    /// Messages that are not reported.
    pub fn waiting(&self) -> usize {
        self.state.lock().waiting.len()
    }
}

impl HistoryBus for MemoryBus {
    /// Panics when the bytes are no pack of the message's region.
    fn publish(&self, message: PackMessage) {
        let pack = codec::decode(&message.bytes).expect("a pack");
        assert_eq!(pack.region, message.region, "the key is the region of the pack");
        assert!(message.bytes.len() <= MESSAGE_BYTES_MAX);
        let mut state = self.state.lock();
        match state.mood {
            Mood::Takes => {
                state.published.push(pack);
                message.receipt.report(Delivery::Published);
            }
            Mood::Doubts => {
                state.published.push(pack);
                message.receipt.report(Delivery::Unknown("the bus may have it".to_owned()));
            }
            Mood::Refuses => message.receipt.report(Delivery::Refused("the bus refuses".to_owned())),
            Mood::Waits => state.waiting.push(message),
        }
    }

    fn complaints(&self) -> Vec<String> {
        self.state.lock().complaints.clone()
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use model::shard::Region;
    use storage::delivery::Receipt;

    #[test]
    fn a_memory_bus_reports_according_to_its_mood() {
        let (bus, pack) = (
            MemoryBus::default(),
            Pack { deployment: "d".into(), region: Region(7), retention: None, users: Vec::new() },
        );
        let (receipts, mut reports) = unbounded_channel();
        for (number, mood) in [(1, Mood::Waits), (2, Mood::Refuses), (3, Mood::Doubts)] {
            bus.becomes(mood);
            let receipt = Receipt::new(number, receipts.clone());
            bus.publish(PackMessage { region: pack.region, bytes: codec::encode(&pack), receipt });
            assert_eq!(bus.waiting(), usize::from(mood == Mood::Waits));
        }
        let mut told = std::iter::from_fn(|| reports.try_recv().ok());
        // The first waited for the second mood.
        assert!(matches!(told.next().map(|report| (report.number, report.delivery)), Some((1, Delivery::Refused(_)))));
        assert!(matches!(told.next().map(|report| (report.number, report.delivery)), Some((2, Delivery::Refused(_)))));
        assert!(matches!(told.next().map(|report| (report.number, report.delivery)), Some((3, Delivery::Unknown(_)))));
        assert_eq!(bus.published(), [pack]);
        bus.complains(vec!["it is full".to_owned()]);
        assert_eq!(bus.complaints(), ["it is full"]);
    }
}
