//! Messages from gateways on the same hot store, and from gateways without a store that are connected here.

use std::sync::Arc;

use super::access::Access;
use super::assembly::Assembly;
use super::common::Common;
use super::devices::Devices;
use super::hot::Shared;
use super::live::Live;
use crate::domain::devices::gateways::Gateways;
use crate::domain::peer_messages::PeerMessages;
use crate::domain::rewards::memory::Memory;
use crate::storage::device_channel::ChannelSubscriber;

/// What handles them. `memory`: `None` if a history service decides the rewards.
pub(super) fn messages(
    access: &Access,
    devices: &Devices,
    live: &Live,
    memory: Option<Arc<Memory>>,
    common: &Common,
) -> Arc<dyn ChannelSubscriber> {
    Arc::new(PeerMessages {
        fanout: devices.fanout.clone(),
        presence: common.presence.clone(),
        holds: common.holds.clone(),
        kick_list: devices.kick_list.clone(),
        clock: common.clock.clone(),
        memory,
        live: live.inlet.clone(),
        revocations: access.revocations.clone(),
    })
}

/// Delivers the messages of both. Runs until the process ends.
pub(super) fn build(
    shared: Option<Shared>,
    gateways: Option<&Arc<Gateways>>,
    messages: Arc<dyn ChannelSubscriber>,
    access: &Access,
    assembly: &mut Assembly,
) {
    let messages = match gateways {
        Some(gateways) => gateways.listen(messages),
        None => messages,
    };
    let Some(Shared { redis, channel, metrics: of_store, .. }) = shared else { return };
    let registry = assembly.metrics();
    redis.register(registry);
    channel.register(registry);
    of_store.register(registry);
    let messages = channel.run(redis, messages);
    let revocations = access.revocations.clone().keep_up();
    assembly.background.push(Box::pin(async {
        tokio::join!(messages, revocations);
    }));
}
