//! The callbacks of the library.

use std::sync::Arc;

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, ConsumerContext, Rebalance};
use rdkafka::error::KafkaError;
use rdkafka::topic_partition_list::TopicPartitionList;

use super::assigned::Assigned;
use crate::storage::kafka::client;
use crate::storage::kafka::last_error::LastError;
use crate::storage::kafka::liveness::Liveness;

pub struct Member {
    assigned: Arc<Assigned>,
    liveness: Arc<Liveness>,
    last_error: LastError,
}

impl Member {
    pub fn new(assigned: Arc<Assigned>, liveness: Arc<Liveness>) -> Self {
        Member { assigned, liveness, last_error: LastError::default() }
    }
}

impl ClientContext for Member {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        client::log(level, facility, line);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        let _logged = client::is_new(&self.last_error, &error, reason);
    }
}

impl ConsumerContext for Member {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        match rebalance {
            _ if self.liveness.is_over() => {}
            Rebalance::Assign(list) => {
                let partitions = partitions(list);
                tracing::info!(event = "cascade_partitions_assigned", ?partitions, "reading partitions of events");
                self.assigned.assign(partitions);
            }
            Rebalance::Revoke(list) => {
                let partitions = partitions(list);
                tracing::info!(event = "cascade_partitions_revoked", ?partitions, "giving up partitions of events");
                self.assigned.revoke(partitions);
            }
            Rebalance::Error(error) => tracing::warn!(%error, "kafka: partitions are not shared out"),
        }
    }
}

fn partitions(list: &TopicPartitionList) -> Vec<i32> {
    list.elements().iter().map(|element| element.partition()).collect()
}
