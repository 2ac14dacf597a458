//! The parts of the live numbers, wired.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::assembly::Assembly;
use super::common::Common;
use super::spawn::{runtime, spawn};
use domain::live::board::LiveBoard;
use domain::live::config::LiveConfig;
use domain::live::counting::{LiveCounting, SESSIONS_MAX};
use domain::live::inlet::LiveInlet;
use edge::control::live::{self, LiveRoutes};
use edge::shutdown::Stop;
use model::ids::UserId;
use model::live::Sizes;

pub(super) struct Live {
    /// Hears of commits, kicks and erasures.
    pub inlet: Arc<LiveInlet>,
    pub routes: Arc<LiveRoutes>,
}

impl Live {
    /// `timeout`: how long a session counts after its last beat.
    pub fn build(config: &LiveConfig, timeout: Duration, common: &Common, assembly: &mut Assembly) -> Self {
        let (clock, stop) = (common.clock.clone(), common.stop.clone());
        let inlet = Arc::new(LiveInlet::new(clock.clone(), assembly.metrics()));
        assembly.commit_listeners.push(inlet.clone());
        let board = LiveBoard::new();
        let sizes = Sizes { sessions: SESSIONS_MAX, top: config.top, tail: config.tail };
        let kinds = config.widget_kinds.clone();
        let metrics = assembly.metrics();
        let counting = LiveCounting::new(inlet.clone(), board.clone(), clock, timeout, sizes, kinds, metrics);
        assembly.threads.push(Box::new(|| count_live(counting, stop).map(|()| None)));
        let routes = Arc::new(LiveRoutes::new(board, common.contents.clone(), config.streams, assembly.metrics()));
        assembly.serve_control(live::routes(routes.clone()));
        Live { inlet, routes }
    }

    /// Returns the function that the list of kicks calls.
    pub fn on_kick(&self) -> Box<dyn Fn(UserId) + Send + Sync> {
        let inlet = self.inlet.clone();
        Box::new(move |user| inlet.kicked(user))
    }
}

/// Counts live sessions until the process ends.
fn count_live(counting: LiveCounting, stop: Stop) -> io::Result<()> {
    let runtime = runtime()?;
    spawn("live", move || {
        runtime.block_on(async {
            tokio::select! {
                () = counting.run() => {}
                () = stop.stopped() => {}
            }
        });
    })?;
    Ok(())
}
