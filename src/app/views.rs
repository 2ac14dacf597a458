//! The parts of the views, wired.

use std::sync::Arc;

use super::assembly::Assembly;
use super::common::Common;
use domain::content_names::ids_of;
use domain::rewards::today::Today;
use domain::views::ViewCounting;
use domain::views::config::ViewsConfig;
use edge::control::views;
use storage::views::Views;

/// `None`: nothing is counted.
pub(super) fn build(
    config: &ViewsConfig,
    store: Option<Arc<dyn Views>>,
    today: &Arc<Today>,
    common: &Common,
    assembly: &mut Assembly,
) -> Option<Arc<ViewCounting>> {
    let store = store.filter(|_| config.is_on())?;
    let (clock, today) = (common.clock.clone(), today.clone());
    let views = Arc::new(ViewCounting::new(config.clone(), store, clock, today, assembly.metrics()));
    assembly.serve_control(views::routes(views.clone(), ids_of(common.contents.as_ref())));
    Some(views)
}
