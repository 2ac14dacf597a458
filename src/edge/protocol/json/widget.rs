//! The public live numbers, for the widget.

use serde::Serialize;

use super::encode::text_of;
use super::record::Shown;
use model::ids::Content;

#[derive(Serialize)]
struct WidgetView {
    at: u64,
    watching: u64,
    top: Vec<WatchedView>,
}

#[derive(Serialize)]
struct WatchedView {
    kind: u16,
    oid: Shown<u64>,
    users: u32,
}

/// To `GET /widget/v1.json`. `watching`: users; `top`: contents with their users.
pub fn encode_widget<'a>(at: u64, watching: u64, top: impl Iterator<Item = &'a (Content, u32)>) -> String {
    let view =
        |(content, users): &(Content, u32)| WatchedView { kind: content.kind, oid: Shown(content.oid), users: *users };
    text_of(&WidgetView { at, watching, top: top.map(view).collect() })
}
