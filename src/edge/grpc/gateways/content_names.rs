//! The texts of contents, for gateways without a store.

use tonic::Status;

use super::{malformed, status};
use domain::content_names::NamedContents;
use domain::gateway_messages::{Malformed, wire};
use model::content_name::ContentName;
use model::ids::Content;

/// `None`: contents are named by numbers here.
pub async fn answer(
    contents: Option<&NamedContents>,
    request: wire::ContentNamesRequest,
) -> Result<wire::ContentNamesResponse, Status> {
    let numbers_only = || Status::failed_precondition("contents are named by numbers here (contents.ids)");
    let contents = contents.ok_or_else(numbers_only)?;
    let name = |text: &String| {
        ContentName::new(text).map_err(|complaint| malformed(Malformed(format!("the text of a content {complaint}"))))
    };
    let keep = request.keep.iter().map(name).collect::<Result<Vec<_>, _>>()?;
    let kept = contents.kept(keep).await.map_err(status::of_content_names)?;
    let asked = request.oids.iter().map(|oid| Content { kind: 0, oid: *oid });
    let texts = contents.texts(asked).await.map_err(status::of_content_names)?;
    let text = |oid: &u64| texts.name(*oid).map(|name| name.as_str().to_owned()).unwrap_or_default();
    Ok(wire::ContentNamesResponse {
        kept: kept.into_iter().map(|name| name.as_str().to_owned()).collect(),
        texts: request.oids.iter().map(text).collect(),
    })
}
