//! The documents as pages.

use std::collections::BTreeMap;

use super::*;

const LIST: &str = "/demo/docs/";

/// The page at this path.
async fn page(path: &str) -> String {
    let (head, body) = ask(Request::get(path), "").await;
    assert_eq!((head.status, header(&head, "content-type")), (StatusCode::OK, "text/html; charset=utf-8"), "{path}");
    assert!(header(&head, "content-security-policy").contains("default-src 'self'"), "{path}");
    String::from_utf8(body.to_vec()).expect("UTF-8")
}

/// Every value of this attribute in the page, without its quotes.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// Every document by its path, as the list has them.
async fn documents() -> BTreeMap<String, String> {
    let list = page(LIST).await;
    let mut documents = BTreeMap::new();
    for path in values(&list, "href=\"").into_iter().filter(|path| path.ends_with(".md")) {
        documents.insert(path.to_owned(), page(path).await);
    }
    documents
}

#[tokio::test]
async fn the_documents_are_pages() {
    let documents = documents().await;
    assert!(documents.len() > 15, "{:?}", documents.keys());
    let operations = &documents["/demo/docs/operations.md"];
    for part in [" id=\"backup-and-restore\">", "<table>", "<pre tabindex=\"0\">", "href=\"/demo/docs/\""] {
        assert!(operations.contains(part), "{part}");
    }
    for path in ["/demo/docs/nothing.md", "/demo/docs/demo.png", "/demo/docs/%2e%2e%2fCargo.toml"] {
        assert_eq!(ask(Request::get(path), "").await.0.status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn every_link_of_a_document_leads_to_what_is_served() {
    let documents = documents().await;
    let mut links = 0;
    for (path, document) in &documents {
        for link in values(document, "href=\"").into_iter().filter(|link| !link.contains("://")) {
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.as_str() } else { file };
            let (head, body) = ask(Request::get(target), "").await;
            assert_eq!(head.status, StatusCode::OK, "{link} in {path}");
            let page = String::from_utf8(body.to_vec()).expect("UTF-8");
            assert!(fragment.is_empty() || values(&page, "id=\"").contains(&fragment), "{link} in {path}");
            links += 1;
        }
        assert!(!document.contains("<img"), "{path}");
    }
    assert!(links > 200, "{links} links");
}

#[tokio::test]
async fn no_html_of_a_document_comes_through() {
    for (path, document) in documents().await {
        for tag in ["<script", "<style", "<iframe", " onclick", "javascript:"] {
            assert!(!document.contains(tag), "{tag} in {path}");
        }
    }
}
