//! Whether the widget is served, and what it shows.

use std::sync::Arc;

use axum::Router;
use prometheus_client::registry::Registry;

use crate::config::Config;
use crate::domain::live::board::LiveBoard;
use crate::edge::demo;
use crate::edge::widget::{Metrics, Widget, WidgetConfig, router};

/// The players of the demo show its numbers, so it comes with the demo, too: then for this machine only, as the demo itself,
/// and with contents of any number of sessions, since none but bots and a developer are watching.
pub(super) fn build(config: &Config, has_demo: bool, board: Arc<LiveBoard>, registry: &mut Registry) -> Option<Router> {
    // Listed in any case, so that a dashboard can be made before it is on.
    let metrics = Metrics::new(registry);
    let live = &config.live;
    let of_demo = has_demo && !live.widget;
    if !live.widget && !of_demo {
        return None;
    }
    let sessions_min = if of_demo { 1 } else { live.widget_min };
    let of = WidgetConfig { kinds: live.widget_kinds.clone(), sessions_min, per_second: live.widget_per_second };
    let router = router(Widget::new(board, of, metrics));
    let behind_proxies = !of_demo || config.demo.issue_tokens_for_any_user_with_the_real_key;
    Some(demo::on_this_machine(router, behind_proxies))
}
