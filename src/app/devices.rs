//! The parts that reach the connections of a user: pushes and kicks.

use std::sync::Arc;

use super::assembly::Assembly;
use super::common::Common;
use super::live::Live;
use domain::devices::config::PushConfig;
use domain::devices::fanout::Fanout;
use domain::devices::kick_list::KickList;

pub(super) struct Devices {
    pub fanout: Arc<Fanout>,
    pub kick_list: Arc<KickList>,
}

impl Devices {
    pub fn build(config: &PushConfig, live: &Live, common: &Common, assembly: &mut Assembly) -> Self {
        let (presence, channel) = (&common.presence, &common.channel);
        let (steady, clock) = (config.steady_interval, common.clock.clone());
        let fanout = Arc::new(Fanout::new(presence.clone(), channel.clone(), steady, clock, assembly.metrics()));
        assembly.commit_listeners.push(fanout.clone());
        let kick_list = Arc::new(KickList::with_channel(presence.clone(), channel.clone(), live.on_kick()));
        Devices { fanout, kick_list }
    }
}
