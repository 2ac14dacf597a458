//! Whether the widget is served, and what it shows.

use std::sync::Arc;

use super::assembly::Assembly;
use super::common::Common;
use domain::live::board::LiveBoard;
use domain::live::config::LiveConfig;
use edge::config::DemoConfig;
use edge::demo;
use edge::widget::{Metrics, Widget, WidgetConfig, router};

/// The players of the demo show its numbers, so it comes with the demo, too: then for this machine only, as the demo
/// itself, and with contents of any number of users, since none but bots and a developer are watching.
pub(super) fn build(
    live: &LiveConfig,
    of_demo: &DemoConfig,
    has_demo: bool,
    board: Arc<LiveBoard>,
    common: &Common,
    assembly: &mut Assembly,
) {
    // Listed in any case, so that a dashboard can be made before it is on.
    let metrics = Metrics::new(assembly.metrics());
    let for_demo = has_demo && !live.widget;
    if !live.widget && !for_demo {
        return;
    }
    let users_min = if for_demo { 1 } else { live.widget_min };
    let of = WidgetConfig { users_min, per_second: live.widget_per_second };
    let router = router(Widget::new(board, common.contents.clone(), of, metrics));
    let behind_proxies = !for_demo || of_demo.issue_tokens_for_any_user_with_the_real_key;
    let pages = demo::on_this_machine(router, behind_proxies);
    assembly.pages.push(Box::new(|_| pages));
}
