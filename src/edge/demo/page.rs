//! The files of the page, embedded in the binary.

use std::ops::Range;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::range::{RequestedRange, wanted};
use crate::http::problem::Problem;

const INDEX: &str = "index.html";
const LIVE: &str = "live/index.html";
/// Browsers keep what they have and ask each time whether it is still good.
const CACHING: HeaderValue = HeaderValue::from_static("no-cache");

#[derive(RustEmbed)]
#[folder = "../../web-demo/"]
struct Files;

/// `GET /`.
pub async fn index(method: Method, headers: HeaderMap) -> Result<Response, Problem> {
    answer(INDEX, &method, &headers)
}

/// `GET /demo/live/`.
pub async fn live(method: Method, headers: HeaderMap) -> Result<Response, Problem> {
    answer(LIVE, &method, &headers)
}

/// `GET /demo/<path>`.
pub async fn file(Path(path): Path<String>, method: Method, headers: HeaderMap) -> Result<Response, Problem> {
    answer(&path, &method, &headers)
}

/// Whether `/demo/<path>` is a file of the page.
pub(super) fn is_served(path: &str) -> bool {
    content_type(path).is_some() && Files::get(path).is_some()
}

fn answer(path: &str, method: &Method, asked: &HeaderMap) -> Result<Response, Problem> {
    let found = content_type(path).and_then(|kind| Files::get(path).map(|file| (kind, file)));
    let (content_type, file) = found.ok_or_else(|| Problem::not_found("no such file in the demo"))?;
    let tag = tag(&file);
    let about = [
        (header::ETAG, tag.clone()),
        (header::CACHE_CONTROL, CACHING),
        (header::ACCEPT_RANGES, HeaderValue::from_static("bytes")),
    ];
    if is_known(asked, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, about).into_response());
    }
    let about = (about, [(header::CONTENT_TYPE, HeaderValue::from_static(content_type))]);
    let data = data(file);
    let size = data.len() as u64;
    let wanted = if *method == Method::GET { wanted(asked, &tag, size) } else { RequestedRange::Whole };
    Ok(match wanted {
        RequestedRange::Whole => (about.0, about.1, data).into_response(),
        RequestedRange::Part(part) => {
            let range = [(header::CONTENT_RANGE, format!("bytes {}-{}/{size}", part.start, part.end - 1))];
            let part = Range { start: part.start as usize, end: part.end as usize };
            (StatusCode::PARTIAL_CONTENT, about.0, about.1, range, data.slice(part)).into_response()
        }
        RequestedRange::Nothing => {
            let range = [(header::CONTENT_RANGE, format!("bytes */{size}"))];
            (StatusCode::RANGE_NOT_SATISFIABLE, about.0, range).into_response()
        }
    })
}

/// Only what has a type is part of the page; the folder also holds what the page is made with.
fn content_type(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit_once('.')?;
    Some(match extension {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" => "image/jpeg",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "vtt" => "text/vtt; charset=utf-8",
        "webm" => "video/webm",
        _ => return None,
    })
}

fn tag(file: &EmbeddedFile) -> HeaderValue {
    let hash = file.metadata.sha256_hash();
    let half = hash[..16].iter().fold(0u128, |number, byte| number << 8 | u128::from(*byte));
    HeaderValue::from_str(&format!("\"{half:032x}\"")).expect("hex digits in quotes")
}

/// `If-None-Match` compares weakly. No comma stands in a tag of ours, so splitting at commas finds it.
fn is_known(asked: &HeaderMap, tag: &HeaderValue) -> bool {
    let lists = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
    let mut tags = lists.flat_map(|list| list.split(',')).map(str::trim);
    tags.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

fn data(file: EmbeddedFile) -> Bytes {
    match file.data {
        std::borrow::Cow::Borrowed(data) => Bytes::from_static(data),
        std::borrow::Cow::Owned(data) => Bytes::from(data),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The extensions of files that make the page, or the package of the client, and are not served.
    const TOOLS: [&str; 3] = ["sh", "md", "mjs"];

    #[test]
    fn every_file_of_the_page_has_a_type_and_a_tag_of_its_own() {
        let mut tags = std::collections::HashSet::new();
        for path in Files::iter() {
            let extension = path.rsplit('.').next().unwrap_or_default();
            let known = content_type(&path).is_some() || TOOLS.contains(&extension);
            assert!(known, "no content type for {path}");
            assert!(tags.insert(tag(&Files::get(&path).expect("a listed file"))), "the tag of {path} is taken");
        }
    }
}
