//! The documentation, embedded and shown as pages, so that the demo's links lead somewhere without a network.

mod links;
mod markdown;

use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::Html;

use self::links::Links;
use crate::http::problem::Problem;

macro_rules! docs {
    ($($name:literal)*) => {
        &[("README.md", include_str!("../../../README.md")),
          $((concat!("docs/", $name), include_str!(concat!("../../../docs/", $name)))),*]
    };
}

/// Path in the repository and text, in the order in which a newcomer would read them.
const DOCS: &[(&str, &str)] = docs! {
    "protocol.md" "clients.md" "conformance.md" "rewards.md" "events.md" "live.md" "views.md" "counters.md" "subscribers.md" "back-ends.md"
    "history-service.md"
    "operations.md" "metrics.md" "tiers.md" "keys.md" "history.md" "performance.md" "architecture.md" "out-of-scope.md"
};

/// Name and page of each.
static PAGES: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
    let pages = DOCS.iter().map(|(path, text)| (name(path), document(path, text)));
    pages.collect()
});

/// `GET /demo/docs/`: the list.
pub async fn index() -> Html<String> {
    let row = |(path, text): &(&str, &str)| {
        let name = name(path);
        format!("<li><a href=\"/demo/docs/{name}\">{}</a> <code>{name}</code></li>", escaped(title(text)))
    };
    let rows: String = DOCS.iter().map(row).collect();
    let main = format!("<h1>Heartline documentation</h1><ul class=\"docs-list\">{rows}</ul>");
    Html(page("Heartline documentation", "<a href=\"/\">Back to the demo</a>", &main))
}

/// `GET /demo/docs/<name>`.
pub async fn document_page(Path(wanted): Path<String>) -> Result<Html<&'static str>, Problem> {
    let found = PAGES.iter().find(|(name, _)| *name == wanted);
    let (_, page) = found.ok_or_else(|| Problem::not_found("there is no such document; /demo/docs/ lists them"))?;
    Ok(Html(page))
}

fn document(path: &str, text: &str) -> String {
    let links = "<a href=\"/demo/docs/\">All documents</a><a href=\"/\">Demo</a>";
    page(&format!("{} - Heartline", title(text)), links, &markdown::html(text, &Links::of(path)))
}

fn page(title: &str, links: &str, main: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>{title}</title><link rel=\"icon\" href=\"/demo/icon.svg\" type=\"image/svg+xml\">\
         <link rel=\"stylesheet\" href=\"/demo/demo.css\"><link rel=\"stylesheet\" href=\"/demo/docs.css\"></head>\
         <body class=\"docs\"><header><nav aria-label=\"Heartline\">{links}</nav></header>\
         <main>{main}</main></body></html>"
    )
}

/// The last part of the path.
fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
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
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        for file in std::fs::read_dir(folder).expect("the folder") {
            let found = file.expect("a file").file_name().into_string().expect("UTF-8");
            if found.ends_with(".md") {
                assert!(DOCS.iter().any(|(path, _)| name(path) == found), "{found} is not listed");
            }
        }
        for (path, text) in DOCS {
            assert!(!title(text).is_empty(), "{path} has no title");
        }
    }
}
