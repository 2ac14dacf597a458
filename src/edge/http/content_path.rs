//! A content that a path names.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;

use super::problem::Problem;
use crate::protocol::json::decode_content;
use domain::content_names::NamedContents;
use model::content_name::{ContentIds, ContentName};
use model::ids::Content;

/// The last parts of a path: kind and oid.
pub type ContentPath = Result<Path<(String, String)>, PathRejection>;

/// With its name, where contents have names.
pub fn content(path: ContentPath, ids: ContentIds) -> Result<(Content, Option<ContentName>), Problem> {
    let Path((kind, oid)) = path.map_err(|_| Problem::invalid("path: must be UTF-8"))?;
    Ok(decode_content(&kind, &oid, ids)?)
}

/// Has the name stored, before something is stored about its content.
pub async fn require_name(contents: Option<&NamedContents>, name: Option<ContentName>) -> Result<(), Problem> {
    let Some((contents, name)) = contents.zip(name) else { return Ok(()) };
    match contents.require(&[name]).await?.is_empty() {
        true => Ok(()),
        false => Err(Problem::invalid("oid: its number belongs to another content")),
    }
}
