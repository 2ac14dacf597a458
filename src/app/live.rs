//! The parts of the live numbers, wired.

use std::sync::Arc;

use prometheus_client::registry::Registry;

use crate::config::Config;
use crate::domain::live::board::LiveBoard;
use crate::domain::live::counting::{LiveCounting, SESSIONS_MAX};
use crate::domain::live::inlet::LiveInlet;
use crate::domain::time::clock::Clock;
use crate::edge::control::live::LiveRoutes;
use crate::model::ids::UserId;
use crate::model::live::Sizes;

pub(super) struct Live {
    /// Hears of commits, kicks and erasures.
    pub inlet: Arc<LiveInlet>,
    pub routes: Arc<LiveRoutes>,
    /// For a thread of its own.
    pub counting: LiveCounting,
}

impl Live {
    pub fn build(config: &Config, clock: &Arc<Clock>, registry: &mut Registry) -> Self {
        let inlet = Arc::new(LiveInlet::new(clock.clone(), registry));
        let board = LiveBoard::new();
        let timeout = config.live.session_timeout(config.socket.heartbeat_interval, config.store.steady_hold);
        let sizes = Sizes { sessions: SESSIONS_MAX, top: config.live.top, tail: config.live.tail };
        let kinds = config.live.widget_kinds.clone();
        let counting = LiveCounting::new(inlet.clone(), board.clone(), clock.clone(), timeout, sizes, kinds, registry);
        let routes = Arc::new(LiveRoutes::new(board, config.live.streams, registry));
        Live { inlet, routes, counting }
    }

    /// What the list of kicks has to call.
    pub fn on_kick(&self) -> Box<dyn Fn(UserId) + Send + Sync> {
        let inlet = self.inlet.clone();
        Box::new(move |user| inlet.kicked(user))
    }
}
