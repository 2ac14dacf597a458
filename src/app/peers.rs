//! Messages from gateways on the same hot store, and from gateways without a store that are connected here.

use std::sync::Arc;

use super::access::Access;
use super::common::Common;
use super::devices::Devices;
use super::live::Live;
use domain::devices::gateways::Gateways;
use domain::peer_messages::PeerMessages;
use domain::rewards::memory::Memory;
use storage::device_channel::ChannelSubscriber;

/// Builds the handler of these messages. `memory`: `None` if a history service decides the rewards. `gateways`: those
/// without a store that are connected here, if they can be.
pub(super) fn messages(
    access: &Access,
    devices: &Devices,
    live: &Live,
    memory: Option<Arc<Memory>>,
    gateways: Option<Arc<Gateways>>,
    common: &Common,
) -> Arc<dyn ChannelSubscriber> {
    let messages = Arc::new(PeerMessages {
        fanout: devices.fanout.clone(),
        presence: common.presence.clone(),
        holds: common.holds.clone(),
        kick_list: devices.kick_list.clone(),
        clock: common.clock.clone(),
        memory,
        live: live.inlet.clone(),
        names: common.names.clone(),
        revocations: access.revocations.clone(),
    });
    match gateways {
        Some(gateways) => gateways.listen(messages),
        None => messages,
    }
}
