//! The callbacks of the library.

use std::sync::Arc;

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, ConsumerContext, Rebalance};
use rdkafka::error::KafkaError;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use super::assigned::Assigned;
use crate::client;
use crate::last_error::LastError;
use crate::liveness::Liveness;

pub struct Member {
    assigned: Arc<Assigned>,
    liveness: Arc<Liveness>,
    last_error: Arc<LastError>,
}

impl Member {
    pub fn new(assigned: Arc<Assigned>, liveness: Arc<Liveness>, last_error: Arc<LastError>) -> Self {
        Member { assigned, liveness, last_error }
    }
}

impl ClientContext for Member {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        client::log(level, facility, line);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        // At its end the library says once more what it has said to nobody.
        if !self.liveness.is_over() {
            let _logged = client::is_new(&self.last_error, &error, reason);
        }
    }
}

impl ConsumerContext for Member {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        match rebalance {
            _ if self.liveness.is_over() => {}
            Rebalance::Assign(list) => {
                start_at_once(list);
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

/// With an offset of its own a partition needs no question to the broker for the group's commit. The answer to that would come
/// after the place is known where the log is to be read, and move it.
fn start_at_once(list: &TopicPartitionList) {
    for mut element in list.elements() {
        let set = element.set_offset(Offset::Offset(0));
        debug_assert!(set.is_ok(), "0 is an offset");
    }
}

fn partitions(list: &TopicPartitionList) -> Vec<i32> {
    list.elements().iter().map(|element| element.partition()).collect()
}
