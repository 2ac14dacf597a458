//! Messages and bytes received and sent over sockets.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet};
use prometheus_client::metrics::MetricType;

/// The traffic of all threads; added up at each scrape.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    flows: Arc<Mutex<Vec<Arc<Flow>>>>,
}

/// The traffic of one thread. Every message counts twice, so no two threads share a cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Flow {
    heard: Count,
    said: Count,
}

#[derive(Debug, Default)]
struct Count {
    messages: AtomicU64,
    bytes: AtomicU64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Direction {
    direction: &'static str,
}

impl Traffic {
    pub fn flow(&self) -> Arc<Flow> {
        let flow = Arc::new(Flow::default());
        self.flows.lock().push(flow.clone());
        flow
    }

    fn sum(&self, count: impl Fn(&Flow) -> &AtomicU64) -> u64 {
        let flows = self.flows.lock();
        flows.iter().map(|flow| count(flow).load(Ordering::Relaxed)).sum()
    }
}

impl Flow {
    /// A message of so many bytes, without its framing, came in.
    pub fn heard(&self, bytes: usize) {
        self.heard.add(bytes);
    }

    /// A message of so many bytes, without its framing, goes out.
    pub fn said(&self, bytes: usize) {
        self.said.add(bytes);
    }
}

impl Count {
    fn add(&self, bytes: usize) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Collector for Traffic {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let mut family = |name, help, heard: u64, said: u64| {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (direction, count) in [("in", heard), ("out", said)] {
                let labels = Direction { direction };
                family.encode_family(&labels)?.encode_counter::<Direction, _, u64>(&count, None)?;
            }
            Ok(())
        };
        let bytes = "Bytes of messages over sockets, without their framing";
        family("socket_bytes", bytes, self.sum(|flow| &flow.heard.bytes), self.sum(|flow| &flow.said.bytes))?;
        let messages = "Messages over sockets, pings and pongs included";
        family("frames", messages, self.sum(|flow| &flow.heard.messages), self.sum(|flow| &flow.said.messages))
    }
}
