//! The stores of a process that has some, as configured.

use std::sync::Arc;

use storage::event_bus::EventBus;
use storage::hot_store::HotStore;
use storage::notices::Notices;
use storage::outbox::Outbox;
use storage::views::Views;

/// The backends, whichever they are.
#[derive(Clone)]
pub(super) struct Stores {
    pub hot: Arc<dyn HotStore>,
    /// Other gateways use the hot store, too.
    pub is_shared: bool,
    pub outbox: Arc<dyn Outbox>,
    pub notices: Arc<dyn Notices>,
    pub bus: Arc<dyn EventBus>,
    /// Takes positions and forgettings.
    pub positions: Arc<dyn EventBus>,
    /// Where views are kept, if anywhere.
    pub views: Option<Arc<dyn Views>>,
}
