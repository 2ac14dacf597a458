//! The buffers with which the sockets of one thread read, decode and write, one after the other. An idle socket has
//! none.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::decoder::Decoder;
use super::inflow::InflowQuota;
use crate::limits::config::{LimitsConfig, SocketConfig};
use crate::metrics::Metrics;
use crate::metrics::traffic::Flow;

/// The most bytes of one read. Most reads bring a frame of some hundred bytes; tungstenite zeroes as much each time.
pub const READ_BYTES: usize = 4 * 1024;

/// Neither shared between threads nor held across an await.
pub struct ScratchBuffers {
    pub inflow_quota: InflowQuota,
    pub write_timeout: Duration,
    /// Bytes that may wait for one client.
    pub unsent_max: usize,
    pub metrics: Metrics,
    pub flow: Arc<Flow>,
    pub buffers: RefCell<Buffers>,
    decoder: WebSocketConfig,
    /// One that is at rest, if there is one.
    spare: RefCell<Option<Box<Decoder>>>,
}

/// Empty between two uses, but for what they may grow to.
pub struct Buffers {
    pub read: Box<[u8; READ_BYTES]>,
    /// Frames on their way out.
    pub out: Vec<u8>,
    /// The text of one of them.
    pub text: Vec<u8>,
}

impl ScratchBuffers {
    pub fn new(limits: &LimitsConfig, socket: &SocketConfig, metrics: Metrics) -> Rc<Self> {
        let decoder = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            .max_message_size(Some(limits.frame_bytes))
            .max_frame_size(Some(limits.frame_bytes));
        Rc::new(ScratchBuffers {
            inflow_quota: InflowQuota::new(limits, socket),
            write_timeout: socket.write_timeout,
            unsent_max: limits.write_buffer_bytes,
            flow: metrics.flow(),
            metrics,
            buffers: RefCell::new(Buffers { read: Box::new([0; READ_BYTES]), out: Vec::new(), text: Vec::new() }),
            decoder,
            spare: RefCell::default(),
        })
    }

    /// A decoder at rest.
    pub fn decoder(&self) -> Box<Decoder> {
        self.spare.borrow_mut().take().unwrap_or_else(|| Box::new(Decoder::new(self.decoder)))
    }

    /// Gives back a decoder that is at rest.
    pub fn rest(&self, decoder: Box<Decoder>) {
        *self.spare.borrow_mut() = Some(decoder);
    }
}
