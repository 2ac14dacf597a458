//! The client's address: directly, behind a trusted proxy, and in spite of forged headers.

use crate::support::{MID, RawSocket, Refusal, TestClient, TestGateway, Token, until};

const ONE_EACH: (&str, &str) = ("limits.connections_per_address", "1");
const TRUSTED: (&str, &str) = ("server.trusted_proxies", r#"["127.0.0.0/8"]"#);
const STRANGERS: (&str, &str) = ("server.trusted_proxies", r#"["192.0.2.0/24"]"#);
const PROXY_PROTOCOL: (&str, &str) = ("server.proxy_protocol", "true");
const X_FORWARDED_FOR: (&str, &str) = ("server.forwarded_header", "x-forwarded-for");
const FORWARDED: (&str, &str) = ("server.forwarded_header", "forwarded");

fn version_1(client: &str) -> Vec<u8> {
    let family = if client.contains(':') { "TCP6" } else { "TCP4" };
    format!("PROXY {family} {client} {client} 4711 80\r\n").into_bytes()
}

fn version_2(client: [u8; 4]) -> Vec<u8> {
    let signature = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c";
    [&signature[..], &client, &[127, 0, 0, 1, 0x12, 0x67, 0, 80]].concat()
}

/// The status line of an upgrade after `header`; empty if the gateway said nothing.
async fn status(gateway: &TestGateway, header: &[u8]) -> (String, RawSocket) {
    let mut socket = RawSocket::connect(gateway.address()).await;
    socket.write(header).await;
    let answer = socket.ask_for_upgrade(Some(&Token::of(MID).sign())).await;
    if answer.starts_with("HTTP/1.1 101") {
        assert!(socket.json().await["welcome"].is_object());
    }
    (answer.lines().next().unwrap_or_default().to_owned(), socket)
}

async fn forwarded(gateway: &TestGateway, header: &'static str, value: &str) -> Result<TestClient, Refusal> {
    let upgrade = gateway.upgrade().bearer(&Token::of(MID).sign()).header(header, value);
    let (socket, protocol) = upgrade.attempt().await?;
    let mut client = TestClient::over(socket, protocol);
    client.wait_for_welcome().await;
    Ok(client)
}

fn is_too_many(refusal: &Refusal) {
    assert_eq!(refusal.status, 429);
    let after = refusal.headers.get("retry-after").expect("retry-after").to_str().expect("ASCII");
    assert!(after.parse::<u32>().is_ok_and(|seconds| seconds >= 1), "{after}");
}

#[tokio::test]
async fn over_the_limit_of_an_address_an_upgrade_is_a_429_with_retry_after() {
    let gateway = TestGateway::with(&[("limits.connections_per_address", "2")]);
    let mut clients = [gateway.connect(1).await, gateway.connect(2).await];
    is_too_many(&gateway.upgrade().bearer(&Token::of(3).sign()).refused().await);
    for client in &mut clients {
        client.still_serves().await;
    }
    clients[0].close(1000).await;
    // The slot is given back a moment after the close is answered.
    let comes_in = async || gateway.upgrade().bearer(&Token::of(3).sign()).attempt().await.is_ok();
    until("the slot that was given up", comes_in).await;
}

#[tokio::test]
async fn the_proxy_protocol_names_the_client_of_a_connection() {
    let gateway = TestGateway::with(&[ONE_EACH, TRUSTED, PROXY_PROTOCOL]);
    let mut open = Vec::new();
    for (header, expected) in [
        (version_1("192.0.2.1"), "101"),
        (version_1("192.0.2.2"), "101"),
        (version_1("192.0.2.1"), "429"),
        (version_2([192, 0, 2, 3]), "101"),
        (version_2([192, 0, 2, 3]), "429"),
        (version_2([192, 0, 2, 2]), "429"),
        (version_1("2001:db8::1"), "101"),
        (version_1("2001:db8::ffff:1"), "429"),
        (version_1("2001:db8:0:1::1"), "101"),
    ] {
        let (line, socket) = status(&gateway, &header).await;
        assert_eq!(line.split(' ').nth(1), Some(expected), "{}", header.escape_ascii());
        open.push(socket);
    }
}

#[tokio::test]
async fn a_connection_of_a_proxy_without_its_header_is_closed() {
    let gateway = TestGateway::with(&[TRUSTED, PROXY_PROTOCOL, ("server.handshake_timeout", "500ms")]);
    for header in [&b""[..], b"PROXY TCP4 192.0.2.1\r\n", b"PROXY TCP4 me you 1 2\r\n", b"\r\n\r\n\0\r\nQUIT\n\x21\x11"]
    {
        let (line, mut socket) = status(&gateway, header).await;
        assert_eq!(line, "", "{}", header.escape_ascii());
        assert_eq!(socket.rest().await, "");
    }
    let mut silent = RawSocket::connect(gateway.address()).await;
    assert_eq!(silent.rest().await, "");
    gateway.wait_for_metric(r#"heartline_refused_total{reason="proxy_header"}"#, |refused| refused == 5.0).await;
}

#[tokio::test]
async fn the_proxy_protocol_of_an_untrusted_peer_is_refused() {
    let gateway = TestGateway::with(&[STRANGERS, PROXY_PROTOCOL]);
    for header in [version_1("192.0.2.1"), version_2([192, 0, 2, 1])] {
        let (line, _socket) = status(&gateway, &header).await;
        assert!(!line.contains("101"), "{line}");
    }
    gateway.connect(MID).await.still_serves().await;
}

#[tokio::test]
async fn a_forwarded_header_of_a_proxy_names_the_client_of_a_request() {
    for (setting, name, prefix) in [(X_FORWARDED_FOR, "x-forwarded-for", ""), (FORWARDED, "forwarded", "for=")] {
        let gateway = TestGateway::with(&[ONE_EACH, TRUSTED, setting]);
        let value = |addresses: &[&str]| {
            let hops = addresses.iter().map(|address| format!("{prefix}{address}"));
            hops.collect::<Vec<_>>().join(", ")
        };
        let one = forwarded(&gateway, name, &value(&["192.0.2.1"])).await;
        let other = forwarded(&gateway, name, &value(&["192.0.2.1", "192.0.2.2", "127.0.0.2"])).await;
        assert!(one.is_ok() && other.is_ok());
        // What a client claims stands on the left of what the proxy knows.
        let claimed = forwarded(&gateway, name, &value(&["6.6.6.6", "192.0.2.2"])).await;
        is_too_many(&claimed.err().expect("a refusal"));
    }
}

#[tokio::test]
async fn a_forwarded_header_of_an_untrusted_peer_is_ignored() {
    let gateway = TestGateway::with(&[ONE_EACH, STRANGERS, X_FORWARDED_FOR]);
    let _one = forwarded(&gateway, "x-forwarded-for", "192.0.2.1").await.expect("the first");
    let again = forwarded(&gateway, "x-forwarded-for", "192.0.2.2").await;
    is_too_many(&again.err().expect("a refusal"));
}

#[tokio::test]
async fn a_request_of_a_proxy_that_names_no_client_is_a_400_and_closes_the_connection() {
    let gateway = TestGateway::with(&[TRUSTED, X_FORWARDED_FOR]);
    for value in ["", "unknown", "192.0.2.1, nobody"] {
        let refusal = forwarded(&gateway, "x-forwarded-for", value).await.err().expect("a refusal");
        assert_eq!((refusal.status, refusal.headers["connection"].as_bytes()), (400, &b"close"[..]), "{value}");
    }
    let answer = gateway.http(MID).get("/v1/history").await;
    answer.problem(400, "invalid");
    let named = gateway.http(MID).header("x-forwarded-for", "192.0.2.1");
    assert_eq!(named.get("/v1/history").await.status, 200);
}

#[tokio::test]
async fn with_both_protocols_the_forwarded_header_counts_only_from_a_proxy() {
    let trusted = ("server.trusted_proxies", r#"["127.0.0.0/8", "10.0.0.0/8"]"#);
    let gateway = TestGateway::with(&[ONE_EACH, trusted, PROXY_PROTOCOL, X_FORWARDED_FOR]);
    let (line, _direct) = status(&gateway, &version_1("192.0.2.1")).await;
    assert!(line.contains("101"), "a client of its own: {line}");
    let (line, _proxy) = status(&gateway, &version_1("10.0.0.1")).await;
    assert!(line.contains("400"), "a proxy that names no client: {line}");
}

#[test]
fn proxy_headers_without_trusted_proxies_are_refused_at_the_start() {
    for setting in [PROXY_PROTOCOL, X_FORWARDED_FOR] {
        let failed = TestGateway::fails_with(&[setting]);
        assert_eq!(failed.code, Some(78));
        assert!(failed.stderr.contains("server.trusted_proxies"), "{}", failed.stderr);
    }
    for (setting, value) in [("server.trusted_proxies", r#"["10.0.0.0/40"]"#), ("server.forwarded_header", "via")] {
        assert_eq!(TestGateway::fails_with(&[(setting, value)]).code, Some(78), "{value}");
    }
}
