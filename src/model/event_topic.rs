//! The topics of events.

/// The topic of an event: events of one topic are consumed together. Kafka has a topic for each (`kafka.topics`), and
/// an embedded log is of one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventTopic {
    /// Rewards, and thresholds of counters.
    Rewards,
    /// Positions and forgettings, written only while somebody has subscribed to them.
    Positions,
}

impl EventTopic {
    pub const ALL: [EventTopic; 2] = [EventTopic::Rewards, EventTopic::Positions];

    /// By which it is named in requests, metrics and the parts of the bus.
    pub fn name(self) -> &'static str {
        match self {
            EventTopic::Rewards => "rewards",
            EventTopic::Positions => "positions",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.name() == name)
    }
}
