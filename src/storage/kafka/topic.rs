//! The check of a topic, at the start and periodically.

use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, ConfigResource, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaResult, RDKafkaErrorCode};
use rdkafka::metadata::MetadataTopic;

use storage::config::kafka::KafkaConfig;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The required state of the topic.
#[derive(Clone, Debug)]
pub struct Topic {
    pub name: String,
    create: bool,
    partitions: u16,
    replication: u16,
    min_in_sync: u16,
    retention: Duration,
    kind: Kind,
}

/// The purpose of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Events,
    /// Batches are as large as this, and the retention is that of the setting.
    History {
        batch_bytes_max: usize,
    },
    /// The same, for what is no pack.
    Quarantine {
        batch_bytes_max: usize,
    },
}

/// How it was found.
#[derive(Debug, PartialEq, Eq)]
pub enum TopicState {
    Sound {
        partitions: usize,
    },
    /// It was missing, and is made.
    Made,
    /// The problems, each in a few words that say how to fix it.
    Wrong(Vec<String>),
    /// No broker has answered, or let this client in.
    Away(String),
}

type Admin = AdminClient<DefaultClientContext>;

impl Topic {
    /// A topic of events, with this name.
    pub fn of_events(config: &KafkaConfig, name: &str, retention: Duration) -> Self {
        Self::of(config, name, retention, Kind::Events)
    }

    /// `batch_bytes_max`: of messages that are sent together.
    pub fn of_history(config: &KafkaConfig, batch_bytes_max: usize) -> Self {
        let kind = Kind::History { batch_bytes_max };
        Self::of(config, &config.topics.history, config.history_retention, kind)
    }

    pub fn of_quarantine(config: &KafkaConfig, batch_bytes_max: usize) -> Self {
        let kind = Kind::Quarantine { batch_bytes_max };
        Self::of(config, &config.topics.quarantine, config.history_retention, kind)
    }

    fn of(config: &KafkaConfig, name: &str, retention: Duration, kind: Kind) -> Self {
        Topic {
            name: name.to_owned(),
            create: config.create_topic,
            partitions: config.partitions,
            replication: config.replication,
            min_in_sync: config.min_in_sync,
            retention,
            kind,
        }
    }

    /// Looks at it, and makes it if it is missing. Takes seconds when no broker answers.
    pub async fn check(&self, settings: &ClientConfig) -> TopicState {
        // A new client each time: its reports are not read, and would pile up in it.
        match self.look(settings).await {
            Ok(found) => found,
            Err(error) => TopicState::Away(error.to_string()),
        }
    }

    async fn look(&self, settings: &ClientConfig) -> KafkaResult<TopicState> {
        let admin: Admin = settings.create()?;
        let metadata = admin.inner().fetch_metadata(Some(&self.name), ANSWER_TIMEOUT)?;
        let Some(topic) = metadata.topics().first() else { return Ok(self.wrong("is in no answer of Kafka")) };
        match topic.error().map(RDKafkaErrorCode::from) {
            None => {}
            Some(RDKafkaErrorCode::UnknownTopicOrPartition) if self.create => return self.make(&admin).await,
            Some(RDKafkaErrorCode::UnknownTopicOrPartition) => {
                return Ok(self.wrong("is missing; create it, or set kafka.create_topic to true"));
            }
            Some(error) => return Ok(self.wrong(&format!("cannot be used: {error}"))),
        }
        let mut complaints = self.of_partitions(topic);
        complaints.extend(self.of_settings(&admin).await?);
        match complaints.is_empty() {
            true => Ok(TopicState::Sound { partitions: topic.partitions().len() }),
            false => Ok(TopicState::Wrong(complaints)),
        }
    }

    async fn make(&self, admin: &Admin) -> KafkaResult<TopicState> {
        let settings = self.settings();
        let new = NewTopic::new(&self.name, self.partitions.into(), TopicReplication::Fixed(self.replication.into()));
        let new = settings.iter().fold(new, |new, (name, value)| new.set(name, value));
        let made = admin.create_topics([&new], &options().operation_timeout(Some(ANSWER_TIMEOUT))).await?;
        Ok(match made.into_iter().next() {
            // Another gateway was first.
            Some(Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists))) => TopicState::Made,
            Some(Err((_, RDKafkaErrorCode::InvalidReplicationFactor))) => {
                let brokers =
                    format!("cannot be created: kafka.replication = {} needs as many brokers", self.replication);
                self.wrong(&brokers)
            }
            Some(Err((_, error))) => self.wrong(&format!("is missing and cannot be created: {error}")),
            None => self.wrong("is missing, and its creation was not answered"),
        })
    }

    /// Those of a topic that is made.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = vec![
            ("min.insync.replicas", self.min_in_sync.to_string()),
            ("unclean.leader.election.enable", "false".to_owned()),
            ("cleanup.policy", "delete".to_owned()),
            ("retention.ms", self.retention.as_millis().to_string()),
        ];
        if let Some(batch_bytes_max) = self.kind.batch_bytes_max() {
            settings.push(("max.message.bytes", batch_bytes_max.to_string()));
        }
        settings
    }

    /// The faults in the placement of its partitions.
    fn of_partitions(&self, topic: &MetadataTopic) -> Vec<String> {
        let few = |wanted: u16, count: fn(&rdkafka::metadata::MetadataPartition) -> usize| {
            topic.partitions().iter().filter(|partition| count(partition) < wanted.into()).count()
        };
        let leaderless = topic.partitions().iter().filter(|partition| partition.leader() < 0).count();
        let copies = few(self.replication, |partition| partition.replicas().len());
        let in_sync = few(self.min_in_sync, |partition| partition.isr().len());
        let mut complaints = Vec::new();
        let mut complain = |partitions: usize, what: String| {
            if partitions > 0 {
                let of = topic.partitions().len();
                complaints.push(self.complaint(&format!("{partitions} of {of} partitions {what}")));
            }
        };
        complain(leaderless, format!("have no leader; {} wait", self.kind.waiting()));
        complain(in_sync, format!("have fewer copies in sync than kafka.min_in_sync = {}", self.min_in_sync));
        complain(copies, format!("have fewer copies than kafka.replication = {}", self.replication));
        complaints
    }

    /// The faults in its settings, with the defaults of its brokers.
    async fn of_settings(&self, admin: &Admin) -> KafkaResult<Vec<String>> {
        let described = admin.describe_configs([&ResourceSpecifier::Topic(&self.name)], &options()).await?;
        let mut complaints = Vec::new();
        match described.into_iter().next() {
            Some(Ok(settings)) => {
                let setting = |name| value(&settings, name);
                if setting("min.insync.replicas").parse().is_ok_and(|number: u16| number < self.min_in_sync) {
                    let number = setting("min.insync.replicas");
                    let less =
                        format!("min.insync.replicas is {number}, less than kafka.min_in_sync = {}", self.min_in_sync);
                    complaints.push(self.complaint(&less));
                }
                if setting("unclean.leader.election.enable") == "true" {
                    let lost = self.kind.contents();
                    let unclean =
                        format!("unclean.leader.election.enable is true: {lost} may be lost; set it to false");
                    complaints.push(self.complaint(&unclean));
                }
                if setting("cleanup.policy").contains("compact") {
                    let newest = self.kind.newest();
                    let compact = format!("cleanup.policy has compact: all but {newest} go; set it to delete");
                    complaints.push(self.complaint(&compact));
                }
                if let Some(batch_bytes_max) = self.kind.batch_bytes_max() {
                    complaints.extend(
                        self.of_history_settings(setting, batch_bytes_max).iter().map(|what| self.complaint(what)),
                    );
                }
            }
            // Publishing needs no right to read them.
            refused => tracing::debug!(topic = self.name, ?refused, "cannot check the settings of the topic"),
        }
        Ok(complaints)
    }

    fn of_history_settings<'a>(
        &self,
        setting: impl Fn(&'static str) -> &'a str,
        batch_bytes_max: usize,
    ) -> Vec<String> {
        let (found, wanted) = (setting("retention.ms"), self.retention.as_millis().to_string());
        let mut complaints = Vec::new();
        if !found.is_empty() && found != wanted {
            let retention = humantime::format_duration(self.retention);
            complaints.push(format!(
                "retention.ms is {found}, but kafka.history_retention is {retention}; set retention.ms to {wanted}"
            ));
        }
        let found = setting("max.message.bytes");
        if found.parse().is_ok_and(|bytes: usize| bytes < batch_bytes_max) {
            complaints
                .push(format!("max.message.bytes is {found}: large messages are refused; set it to {batch_bytes_max}"));
        }
        complaints
    }

    fn wrong(&self, what: &str) -> TopicState {
        TopicState::Wrong(vec![self.complaint(what)])
    }

    pub fn complaint(&self, what: &str) -> String {
        format!("topic {}: {what}", self.name)
    }
}

impl Kind {
    /// Messages that are sent together, of a topic whose messages are large.
    fn batch_bytes_max(self) -> Option<usize> {
        match self {
            Kind::Events => None,
            Kind::History { batch_bytes_max } | Kind::Quarantine { batch_bytes_max } => Some(batch_bytes_max),
        }
    }

    fn contents(self) -> &'static str {
        match self {
            Kind::Events => "events",
            Kind::History { .. } => "packs",
            Kind::Quarantine { .. } => "messages",
        }
    }

    /// The messages that wait for the leader of a partition, as text.
    fn waiting(self) -> &'static str {
        match self {
            Kind::Events => "events of their users",
            Kind::History { .. } => "packs of their regions",
            Kind::Quarantine { .. } => "messages that are no packs",
        }
    }

    /// The message that compaction would leave, as text.
    fn newest(self) -> &'static str {
        match self {
            Kind::Events => "a user's newest event",
            Kind::History { .. } => "a region's newest pack",
            Kind::Quarantine { .. } => "a region's newest message",
        }
    }
}

fn value<'a>(settings: &'a ConfigResource, name: &str) -> &'a str {
    settings.get(name).and_then(|entry| entry.value.as_deref()).unwrap_or_default()
}

fn options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(ANSWER_TIMEOUT))
}
