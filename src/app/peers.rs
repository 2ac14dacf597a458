//! The messages from other gateways on the same hot store.

use std::sync::Arc;

use super::access::Access;
use super::assembly::Assembly;
use super::common::Common;
use super::devices::Devices;
use super::hot::Shared;
use super::live::Live;
use super::rewards::Rewards;
use crate::domain::peer_messages::PeerMessages;

/// It listens until the process ends.
pub(super) fn build(
    shared: Shared,
    access: &Access,
    devices: &Devices,
    live: &Live,
    rewards: &Rewards,
    common: &Common,
    assembly: &mut Assembly,
) {
    let peer_messages = Arc::new(PeerMessages {
        fanout: devices.fanout.clone(),
        presence: common.presence.clone(),
        holds: common.holds.clone(),
        kick_list: devices.kick_list.clone(),
        memory: rewards.memory.clone(),
        live: live.inlet.clone(),
        revocations: access.revocations.clone(),
    });
    let Shared { redis, channel, metrics: of_store, .. } = shared;
    let registry = assembly.metrics();
    redis.register(registry);
    channel.register(registry);
    of_store.register(registry);
    let messages = channel.run(redis, peer_messages);
    let revocations = access.revocations.clone().keep_up();
    assembly.background.push(Box::pin(async {
        tokio::join!(messages, revocations);
    }));
}
