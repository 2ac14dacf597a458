//! TLS on the public listener, and another certificate while connections go on.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair, date_time_ymd, generate_simple_self_signed};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::support::{MID, NEVER, RawSocket, TestClient, TestGateway, Token, beat, in_time, run, until};

const HOST: &str = "gateway.example";

type Stream = Box<TlsStream<TcpStream>>;

/// Where the gateway finds its certificate.
struct Files(TempDir);

impl Files {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Puts a new certificate there.
    fn renew(&self) -> CertificateDer<'static> {
        let made = generate_simple_self_signed([HOST.to_owned()]).expect("a certificate");
        fs::write(self.path("cert.pem"), made.cert.pem()).expect("a file");
        fs::write(self.path("key.pem"), made.signing_key.serialize_pem()).expect("a file");
        made.cert.der().clone()
    }

    /// Puts one there that is valid from the first day of a year to that of another.
    fn put(&self, from: i32, to: i32) {
        let mut params = CertificateParams::new([HOST.to_owned()]).expect("a name");
        (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        fs::write(self.path("cert.pem"), certificate.pem()).expect("a file");
        fs::write(self.path("key.pem"), key.serialize_pem()).expect("a file");
    }

    fn gateway(&self, settings: &[(&str, &str)]) -> TestGateway {
        let (cert, key) = (self.path("cert.pem"), self.path("key.pem"));
        let files =
            [("server.tls_cert", cert.to_str().expect("ASCII")), ("server.tls_key", key.to_str().expect("ASCII"))];
        TestGateway::with(&[&files, settings].concat())
    }
}

fn files() -> (Files, CertificateDer<'static>) {
    let files = Files(tempfile::tempdir().expect("a directory"));
    let certificate = files.renew();
    (files, certificate)
}

/// A connection on which only this certificate is trusted.
async fn connect(gateway: &TestGateway, trusted: &CertificateDer<'static>) -> std::io::Result<Stream> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).expect("a certificate");
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(gateway.address()).await.expect("a listener");
    let name = ServerName::try_from(HOST).expect("a name");
    let connecting = Box::pin(TlsConnector::from(Arc::new(config)).connect(name, stream));
    in_time("a handshake", connecting).await.map(Box::new)
}

async fn welcomed(gateway: &TestGateway, trusted: &CertificateDer<'static>) -> TestClient<Stream> {
    let stream = connect(gateway, trusted).await.expect("a handshake");
    let upgraded = gateway.upgrade().bearer(&Token::of(MID).sign()).over(stream).await;
    let (socket, protocol) = upgraded.expect("an upgrade");
    let mut client = TestClient::over(socket, protocol);
    client.wait_for_welcome().await;
    client
}

#[tokio::test]
async fn sockets_are_served_over_tls() {
    let (files, certificate) = files();
    let gateway = files.gateway(&[]);
    let mut client = welcomed(&gateway, &certificate).await;
    let at = client.now();
    client.watch((0..500).map(|oid| beat(oid, at))).await;
    assert_eq!(client.position(100).await, Some(10_000));
    assert_eq!(client.close(1000).await, 1000);
}

#[tokio::test]
async fn close_codes_arrive_over_tls() {
    let (files, certificate) = files();
    let gateway = files.gateway(&[]);
    let mut client = welcomed(&gateway, &certificate).await;
    for _ in 0..3 {
        client.send_text("not JSON").await;
    }
    assert_eq!(client.closed().await, 4000);
}

#[tokio::test]
async fn a_client_without_tls_or_with_a_late_handshake_is_closed() {
    let (files, certificate) = files();
    // Long enough for a client that speaks TLS, in a debug build.
    let quick = [("server.handshake_timeout", "3s"), ("server.request_timeout", NEVER), ("server.keep_alive", NEVER)];
    let gateway = files.gateway(&quick);
    let mut plain = RawSocket::connect(gateway.address()).await;
    assert!(!plain.ask_for_upgrade(None).await.contains("HTTP"));
    let mut silent = RawSocket::connect(gateway.address()).await;
    assert_eq!(silent.rest().await, "");
    welcomed(&gateway, &certificate).await;
}

#[tokio::test]
async fn a_new_certificate_is_taken_at_sighup_and_no_connection_is_dropped() {
    let (files, old) = files();
    let gateway = files.gateway(&[]);
    let mut client = welcomed(&gateway, &old).await;
    let new = files.renew();
    gateway.hang_up();
    until("the new certificate", async || connect(&gateway, &new).await.is_ok()).await;
    assert!(connect(&gateway, &old).await.is_err(), "the old one is shown no more");
    client.still_serves().await;
    welcomed(&gateway, &new).await.still_serves().await;
}

#[tokio::test]
async fn sighup_ends_nothing_without_a_certificate_either() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    gateway.hang_up();
    gateway.wait_for_log("keys reloaded").await;
    client.still_serves().await;
    gateway.connect(MID).await.still_serves().await;
}

#[tokio::test]
async fn a_bad_certificate_changes_nothing_and_is_logged_in_one_line() {
    let (files, good) = files();
    let gateway = files.gateway(&[]);
    let key = fs::read(files.path("key.pem")).expect("the key");
    files.renew();
    // The key of another certificate.
    fs::write(files.path("key.pem"), &key).expect("a file");
    gateway.hang_up();
    let stays = |gateway: &TestGateway| gateway.log().matches("cannot reload the certificate").count();
    until("a line", async || stays(&gateway) > 0).await;
    assert_eq!(stays(&gateway), 1);
    welcomed(&gateway, &good).await.still_serves().await;
    // Until one is taken, the probes and the metrics say so, too.
    gateway.shows_a_failed_reload_of("server_certificate").await;
    files.renew();
    gateway.hang_up();
    gateway.wait_for_log("certificate reloaded").await;
    gateway.shows_no_failed_reload_of("server_certificate").await;
}

#[tokio::test]
async fn a_certificate_that_has_changed_is_taken_without_a_signal() {
    let (files, old) = files();
    let gateway = files.gateway(&[("server.watch_files", "1s")]);
    let mut client = welcomed(&gateway, &old).await;
    let new = files.renew();
    until("the new certificate", async || connect(&gateway, &new).await.is_ok()).await;
    client.still_serves().await;
    fs::write(files.path("cert.pem"), "no certificate").expect("a file");
    gateway.shows_a_failed_reload_of("server_certificate").await;
    welcomed(&gateway, &new).await.still_serves().await;
    let newest = files.renew();
    until("the repaired certificate", async || connect(&gateway, &newest).await.is_ok()).await;
    gateway.shows_no_failed_reload_of("server_certificate").await;
}

#[tokio::test]
async fn a_certificate_that_clients_refuse_is_served_and_told_of() {
    const LEFT: &str = r#"heartline_certificate_expiry_seconds{listener="server"}"#;
    let (files, _) = files();
    files.put(2001, 2002);
    let gateway = files.gateway(&[]);
    gateway.wait_for_log("certificate_invalid").await;
    assert!(gateway.log().contains("has expired: valid until 2002-01-01T00:00:00Z"), "{}", gateway.log());
    gateway.wait_for_metric(LEFT, |left| left < -86_400.0).await;
    let said = gateway.admin().get("/readyz").await;
    assert!(said.status == 200 && said.text().contains("has expired"), "{}", said.text());
    let (cert, key) = (files.path("cert.pem"), files.path("key.pem"));
    let settings =
        [("server.tls_cert", cert.to_str().expect("ASCII")), ("server.tls_key", key.to_str().expect("ASCII"))];
    for (from, to, why) in
        [(2001, 2002, Some("has expired")), (2090, 2091, Some("is not valid yet")), (2001, 2091, None)]
    {
        files.put(from, to);
        let checked = run(&["check-config"], &settings);
        let said = String::from_utf8_lossy(&checked.stderr).into_owned();
        assert_eq!(checked.status.code(), Some(if why.is_some() { 78 } else { 0 }), "{said}");
        assert!(why.is_none_or(|why| said.contains("server.tls_cert") && said.contains(why)), "{said}");
    }
    gateway.hang_up();
    gateway.wait_for_log("certificate reloaded").await;
    gateway.wait_for_metric(LEFT, |left| left > 86_400.0).await;
    assert_eq!(gateway.admin().get("/readyz").await.text(), r#"{"ready":true}"#);
}

#[tokio::test]
async fn behind_a_proxy_its_header_comes_before_the_handshake() {
    use tokio::io::AsyncWriteExt;

    let (files, certificate) = files();
    let trusted = ("server.trusted_proxies", r#"["127.0.0.0/8"]"#);
    let each = ("limits.connections_per_address", "1");
    let gateway = files.gateway(&[trusted, each, ("server.proxy_protocol", "true")]);
    let mut clients = Vec::new();
    for (address, expected) in [("192.0.2.1", true), ("192.0.2.2", true), ("192.0.2.1", false)] {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).expect("a certificate");
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let mut stream = TcpStream::connect(gateway.address()).await.expect("a listener");
        let header = format!("PROXY TCP4 {address} 10.0.0.1 4711 443\r\n");
        stream.write_all(header.as_bytes()).await.expect("room");
        let name = ServerName::try_from(HOST).expect("a name");
        let connecting = Box::pin(TlsConnector::from(Arc::new(config)).connect(name, stream));
        let stream = Box::new(connecting.await.expect("a handshake"));
        let upgraded = gateway.upgrade().bearer(&Token::of(MID).sign()).over(stream).await;
        assert_eq!(upgraded.is_ok(), expected, "{address}");
        clients.push(upgraded);
    }
}

#[test]
fn a_certificate_that_cannot_be_used_is_refused_at_the_start() {
    let (files, _) = files();
    let (cert, key) = (files.path("cert.pem"), files.path("key.pem"));
    let (cert, key) = (cert.to_str().expect("ASCII"), key.to_str().expect("ASCII"));
    for (cert, key, named) in
        [("/nowhere", key, "server.tls_cert"), (cert, "/nowhere", "server.tls_key"), (key, key, "tls_cert")]
    {
        let failed = TestGateway::fails_with(&[("server.tls_cert", cert), ("server.tls_key", key)]);
        assert_eq!(failed.code, Some(78), "{}", failed.stderr);
        let said = failed.stderr.lines().filter(|line| line.starts_with("heartline: ")).collect::<Vec<_>>();
        assert!(said.len() == 1 && said[0].contains(named), "{}", failed.stderr);
    }
}

#[tokio::test]
async fn a_half_done_handshake_does_not_hold_the_drain() {
    let (files, certificate) = files();
    let patient = [("server.handshake_timeout", NEVER), ("server.drain_timeout", NEVER), ("server.threads", "1")];
    let mut gateway = files.gateway(&patient);
    let mut socket = RawSocket::connect(gateway.address()).await;
    socket.write(&[22, 3, 1, 2, 0, 1]).await;
    // Accepted after it, and done.
    drop(connect(&gateway, &certificate).await.expect("a handshake"));
    gateway.terminate();
    assert!(gateway.ended().await.success());
}
