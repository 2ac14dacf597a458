//! The documentation, embedded as text, so that the page's links lead somewhere without a network.

use axum::extract::Path;
use axum::response::{Html, IntoResponse, Response};
use http::{HeaderValue, header};

use crate::edge::http::problem::Problem;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

macro_rules! docs {
    ($($name:literal)*) => {
        &[("README.md", include_str!("../../../README.md")),
          $(($name, include_str!(concat!("../../../docs/", $name)))),*]
    };
}

/// Name and text, in the order in which a newcomer would read them.
const DOCS: &[(&str, &str)] = docs! {
    "protocol.md" "clients.md" "rewards.md" "events.md" "live.md" "views.md" "counters.md" "subscribers.md" "back-ends.md"
    "operations.md" "metrics.md" "tiers.md" "keys.md" "history.md" "performance.md" "architecture.md" "out-of-scope.md"
};

/// `GET /demo/docs/`: the list.
pub async fn index() -> Html<String> {
    let row = |(name, text): &(&str, &str)| {
        format!("<li><a href=\"/demo/docs/{name}\">{}</a> <code>{name}</code></li>", escaped(title(text)))
    };
    let rows: String = DOCS.iter().map(row).collect();
    Html(format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Heartline documentation</title><link rel=\"icon\" href=\"/demo/icon.svg\">\
         <link rel=\"stylesheet\" href=\"/demo/demo.css\"></head>\
         <body class=\"docs\"><main><h1>Heartline documentation</h1><ul>{rows}</ul>\
         <p><a href=\"/\">Back to the demo</a></p></main></body></html>"
    ))
}

/// `GET /demo/docs/<name>`, as plain text.
pub async fn text(Path(name): Path<String>) -> Result<Response, Problem> {
    let found = DOCS.iter().find(|(known, _)| *known == name);
    let (_, text) = found.ok_or_else(|| Problem::not_found("there is no such document; /demo/docs/ lists them"))?;
    Ok(([(header::CONTENT_TYPE, TEXT)], *text).into_response())
}

/// The first heading.
fn title(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_is_listed_under_its_own_title() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        for file in std::fs::read_dir(folder).expect("the folder") {
            let name = file.expect("a file").file_name().into_string().expect("UTF-8");
            if name.ends_with(".md") {
                assert!(DOCS.iter().any(|(listed, _)| *listed == name), "{name} is not listed");
            }
        }
        for (name, text) in DOCS {
            assert!(!title(text).is_empty(), "{name} has no title");
        }
    }
}
