//! The public live numbers, for the widget.

use serde::Serialize;

use super::encode::text_of;
use super::live::RankedView;
use crate::model::live::Ranked;

#[derive(Serialize)]
struct WidgetView {
    at: u64,
    watching: u64,
    top: Vec<RankedView>,
}

/// To `GET /widget/v1.json`.
pub fn encode_widget<'a>(at: u64, watching: u64, top: impl Iterator<Item = &'a Ranked>) -> String {
    text_of(&WidgetView { at, watching, top: top.map(RankedView::of).collect() })
}
