//! Documents of a server on this machine, with TLS and without.

use std::net::Ipv4Addr;

use super::*;
use crate::tests::{Receiver, certificate};

const SETTING: &str = "a.setting";
/// With 65 bytes.
const LONG: &str = "HTTP/1.1 200 OK\r\ncontent-length: 65\r\n\r\n\
    12345678123456781234567812345678123456781234567812345678123456789";

fn fetcher(ca: &Path) -> Fetcher {
    Fetcher::new(ca, SETTING, 64).expect("a fetcher")
}

async fn fetched(fetcher: &Fetcher, url: &str) -> Result<Fetched, String> {
    fetcher.get(&url.parse().expect("a URL")).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_document_comes_with_its_age() {
    let answer = "HTTP/1.1 200 OK\r\ncache-control: public, max-age=60\r\ncontent-length: 2\r\n\r\n{}";
    let server = Receiver::answering(answer).await;
    let found = fetched(&fetcher(Path::new("")), &format!("http://{}/keys", server.address)).await;
    assert_eq!(found, Ok(Fetched { text: "{}".to_owned(), max_age: Some(Duration::from_secs(60)) }));
}

#[tokio::test]
async fn its_certificate_must_be_trusted() {
    let (acceptor, file) = certificate();
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    let server = Receiver::on(Ipv4Addr::LOCALHOST, answer, Some(acceptor)).await;
    let url = format!("https://localhost:{}/keys", server.address.port());
    assert_eq!(fetched(&fetcher(file.path()), &url).await.map(|found| found.text), Ok("{}".to_owned()));
    let refused = fetched(&fetcher(Path::new("")), &url).await.expect_err("it is not trusted");
    assert!(refused.contains("no TLS"), "{refused}");
    let missing = Fetcher::new(Path::new("/nonexistent"), SETTING, 64).map(drop).expect_err("no file");
    assert!(missing.to_string().starts_with("a.setting: cannot read /nonexistent"), "{missing}");
}

#[tokio::test]
async fn bad_answers_are_named() {
    for (answer, why) in [
        ("HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n", "it answered 500 Internal Server Error"),
        (LONG, "its answer is longer than 64 bytes"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{", "its answer broke off"),
        (
            "HTTP/1.1 302 Found\r\nlocation: https://id.example/\r\ncontent-length: 0\r\n\r\n",
            "it redirects to another host, or too often",
        ),
        (
            "HTTP/1.1 302 Found\r\nlocation: /again\r\ncontent-length: 0\r\n\r\n",
            "it redirects to another host, or too often",
        ),
        ("hello\r\n\r\n", "client error"),
    ] {
        let server = Receiver::answering(answer).await;
        let said = fetched(&fetcher(Path::new("")), &format!("http://{}/", server.address)).await;
        assert!(said.as_ref().is_err_and(|said| said.contains(why)), "{why}: {said:?}");
        assert!(server.requests() <= 1 + REDIRECTS_MAX, "{why}");
    }
}

#[test]
fn the_age_is_read_from_cache_control() {
    let age_of = |line: &'static str| {
        let headers = [(header::CACHE_CONTROL, line.parse().expect("a header"))].into_iter().collect();
        max_age(&headers).map(|age| age.as_secs())
    };
    assert_eq!(age_of("public, max-age=3600, must-revalidate"), Some(3_600));
    assert_eq!((age_of("Max-Age=\"60\""), age_of("no-store"), age_of("max-age=soon")), (Some(60), None, None));
}

#[test]
fn a_redirect_stays_on_its_host() {
    let from: EndpointUrl = "https://id.example/keys".parse().expect("a URL");
    let to = |location: &str| {
        let headers = [(header::LOCATION, location.parse().expect("a header"))].into_iter().collect();
        redirected(&from, &headers).map(|url| url.as_str().to_owned())
    };
    assert_eq!(to("/v2/keys").as_deref(), Some("https://id.example/v2/keys"));
    for elsewhere in
        ["https://other.example/keys", "http://id.example/keys", "https://id.example:8443/keys", "//other.example/"]
    {
        assert_eq!(to(elsewhere), None, "{elsewhere}");
    }
}
