//! The public live numbers, for the widget.

use serde::Serialize;

use super::encode::text_of;
use super::record::Shown;
use model::content_name::{ContentTexts, ToldOid};
use model::ids::Content;

#[derive(Serialize)]
struct WidgetView<'a> {
    at: u64,
    watching: u64,
    top: Vec<WatchedView<'a>>,
}

#[derive(Serialize)]
struct WatchedView<'a> {
    kind: u16,
    oid: Shown<ToldOid<'a>>,
    users: u32,
}

/// To `GET /widget/v1.json`. `watching`: users; `top`: contents with their users.
pub fn encode_widget<'a>(
    at: u64,
    watching: u64,
    top: impl Iterator<Item = &'a (Content, u32)>,
    texts: &ContentTexts,
) -> String {
    let mut top: Vec<_> = top.collect();
    top.sort_by(|(one, users), (other, of_other)| of_other.cmp(users).then_with(|| texts.order(*one, *other)));
    let view = |(content, users): &(Content, u32)| WatchedView {
        kind: content.kind,
        oid: Shown(texts.told(content.oid)),
        users: *users,
    };
    text_of(&WidgetView { at, watching, top: top.into_iter().map(view).collect() })
}
