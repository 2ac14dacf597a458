//! The stores, as configured.

use std::sync::Arc;

use crate::storage::device_channel::DeviceChannel;
use crate::storage::event_bus::EventBus;
use crate::storage::hot_store::HotStore;
use crate::storage::notices::Notices;
use crate::storage::outbox::Outbox;
use crate::storage::views::Views;

/// The backends, whichever they are.
#[derive(Clone)]
pub(super) struct Stores {
    pub hot: Arc<dyn HotStore>,
    pub outbox: Arc<dyn Outbox>,
    pub notices: Arc<dyn Notices>,
    pub bus: Arc<dyn EventBus>,
    /// Takes positions and forgettings.
    pub positions: Arc<dyn EventBus>,
    /// To the other gateways on the same hot store.
    pub channel: Arc<dyn DeviceChannel>,
    /// Where views are kept, if anywhere.
    pub views: Option<Arc<dyn Views>>,
}
