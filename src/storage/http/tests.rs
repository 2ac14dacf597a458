use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tower::Service;

use super::*;

const TIMEOUT: Duration = Duration::from_millis(500);
const OK: &str = "HTTP/1.1 204 No Content\r\n\r\n";

/// A receiver that gives the same answer to each request, and counts connections and requests.
pub(super) struct Receiver {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl Receiver {
    /// `answer`: empty = none at all.
    pub async fn answering(answer: &'static str) -> Self {
        Self::on(Ipv4Addr::LOCALHOST, answer, None).await
    }

    pub async fn on(ip: Ipv4Addr, answer: &'static str, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind((ip, 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let [connections, requests] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let (accepted, counted) = (connections.clone(), requests.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                accepted.fetch_add(1, Ordering::Relaxed);
                let (tls, counted) = (tls.clone(), counted.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, answer, &counted).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, answer, &counted).await;
                            }
                        }
                    }
                });
            }
        });
        Receiver { address, connections, requests }
    }

    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

/// Requests end with their body, which is `{}`, or with their head if they have none.
async fn serve(mut stream: impl AsyncReadExt + AsyncWriteExt + Unpin, answer: &str, counted: &AtomicUsize) {
    let mut read = Vec::new();
    let mut piece = [0; 1024];
    while let Ok(1..) = stream.read(&mut piece).await.inspect(|bytes| read.extend_from_slice(&piece[..*bytes])) {
        let is_get = read.starts_with(b"GET ");
        if !read.ends_with(if is_get { &b"\r\n\r\n"[..] } else { b"{}" }) {
            continue;
        }
        read.clear();
        counted.fetch_add(1, Ordering::Relaxed);
        match answer {
            "" => std::future::pending().await,
            "close" => return,
            "endless" => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
                while stream.write_all(format!("400\r\n{}\r\n", "x".repeat(1024)).as_bytes()).await.is_ok() {}
            }
            answer => drop(stream.write_all(answer.as_bytes()).await),
        }
        if is_get {
            return;
        }
    }
}

fn config(networks: &[&str]) -> EndpointConfig {
    let allow_networks = networks.iter().map(|network| network.parse().expect("a network")).collect();
    let rules = EndpointRules { allow_http: true, allow_networks };
    EndpointConfig { rules, timeout: TIMEOUT, ca: PathBuf::new(), dns: None }
}

fn endpoint(config: EndpointConfig) -> HttpEndpoint {
    HttpEndpoint::new(config).expect("it can be set up")
}

fn local() -> HttpEndpoint {
    endpoint(config(&["127.0.0.1/32"]))
}

fn delivery(url: &str) -> Delivery {
    Delivery {
        url: url.parse().expect("it is a URL"),
        content_type: "application/cloudevents+json",
        id: "x:1".into(),
        timestamp: 1,
        signature: "v1,x".into(),
        body: "{}".into(),
    }
}

async fn sent(endpoint: &HttpEndpoint, url: &str) -> Outcome {
    endpoint.deliver(delivery(url)).await
}

async fn answered(answer: &'static str) -> Outcome {
    let receiver = Receiver::answering(answer).await;
    sent(&local(), &format!("http://{}/hook", receiver.address)).await
}

fn status(reason: FailureReason, status: u16) -> Outcome {
    Outcome::Failed { reason, status: Some(status), retry_after: None }
}

#[tokio::test]
async fn the_status_decides() {
    for (answer, outcome) in [
        (OK, Outcome::Delivered),
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi", Outcome::Delivered),
        ("HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n", Outcome::Gone),
        ("HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n", status(FailureReason::Status, 500)),
        ("HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n", status(FailureReason::Status, 404)),
    ] {
        assert_eq!(answered(answer).await, outcome, "{answer}");
    }
}

#[tokio::test]
async fn a_wait_that_is_asked_for_is_told() {
    let seconds = "HTTP/1.1 429 Slow\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n";
    let retry_after = Some(Duration::from_secs(7));
    let outcome = Outcome::Failed { reason: FailureReason::Status, status: Some(429), retry_after };
    assert_eq!(answered(seconds).await, outcome);
    let past = "HTTP/1.1 503 Off\r\nretry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\ncontent-length: 0\r\n\r\n";
    let retry_after = Some(Duration::ZERO);
    assert_eq!(answered(past).await, Outcome::Failed { reason: FailureReason::Status, status: Some(503), retry_after });
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let target = Receiver::answering(OK).await;
    let answer = format!("HTTP/1.1 302 Found\r\nlocation: http://{}/\r\ncontent-length: 0\r\n\r\n", target.address);
    assert_eq!(answered(answer.leak()).await, status(FailureReason::Redirect, 302));
    assert_eq!(target.requests(), 0);
}

#[tokio::test]
async fn an_answer_that_does_not_come_ends_with_the_timeout() {
    let began = Instant::now();
    assert_eq!(answered("").await, failed(FailureReason::Timeout));
    assert!(began.elapsed() >= TIMEOUT && began.elapsed() < 10 * TIMEOUT, "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_endless_answer_does_not_undo_its_status() {
    let began = Instant::now();
    assert_eq!(answered("endless").await, Outcome::Delivered);
    assert!(began.elapsed() < TIMEOUT + 5 * ANSWER_MAX, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_closed_connection_and_a_closed_port_are_failures() {
    assert_eq!(answered("close").await, failed(FailureReason::Connect));
    let closed = TcpListener::bind("127.0.0.1:0").await.and_then(|listener| listener.local_addr()).expect("a port");
    assert_eq!(sent(&local(), &format!("http://{closed}/")).await, failed(FailureReason::Connect));
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let receiver = Receiver::answering(OK).await;
    let (endpoint, url) = (local(), format!("http://{}/hook", receiver.address));
    for _ in 0..5 {
        assert_eq!(sent(&endpoint, &url).await, Outcome::Delivered);
    }
    assert_eq!((receiver.connections.load(Ordering::Relaxed), receiver.requests()), (1, 5));
}

#[tokio::test]
async fn a_connection_is_made_in_time_or_given_up_though_nothing_waits_for_it() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let uri = format!("https://{}/", silent.local_addr().expect("an address")).parse().expect("it is a URI");
    let EndpointConfig { rules, timeout, ca, dns } = config(&["127.0.0.1/32"]);
    let mut connector =
        Connector::new(rules, resolver::open(dns), tls::client(&ca, "a setting").expect("roots"), timeout);
    let dialed = tokio::time::timeout(10 * TIMEOUT, connector.call(uri)).await.expect("it ends");
    assert_eq!(dialed.err().map(Undialed::reason), Some(FailureReason::Timeout));
}

/// With a certificate for localhost, and the file that makes it trusted.
pub(super) fn certificate() -> (TlsAcceptor, tempfile::NamedTempFile) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let chain = vec![made.cert.der().clone()];
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).expect("they fit");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), made.cert.pem()).expect("it is written");
    (TlsAcceptor::from(Arc::new(config)), file)
}

#[tokio::test]
async fn a_certificate_must_be_trusted_and_of_that_name() {
    let (acceptor, file) = certificate();
    let receiver = Receiver::on(Ipv4Addr::LOCALHOST, OK, Some(acceptor)).await;
    let port = receiver.address.port();
    let networks = ["127.0.0.1/32", "::1/128"];
    let trusting = endpoint(EndpointConfig { ca: file.path().to_owned(), ..config(&networks) });
    assert_eq!(sent(&trusting, &format!("https://localhost:{port}/")).await, Outcome::Delivered);
    assert_eq!(sent(&trusting, &format!("https://127.0.0.1:{port}/")).await, failed(FailureReason::Tls));
    let doubting = endpoint(config(&networks));
    assert_eq!(sent(&doubting, &format!("https://localhost:{port}/")).await, failed(FailureReason::Tls));
    assert_eq!(receiver.requests(), 1);
}

#[test]
fn a_file_without_certificates_is_refused() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let refused = HttpEndpoint::new(EndpointConfig { ca: file.path().to_owned(), ..config(&[]) }).err();
    assert!(refused.is_some_and(|refused| refused.to_string().starts_with("subscribers.tls_ca: ")));
}

#[tokio::test]
async fn an_address_that_is_not_allowed_is_not_connected_to() {
    let receiver = Receiver::on(Ipv4Addr::new(127, 0, 0, 2), OK, None).await;
    let (endpoint, port) = (local(), receiver.address.port());
    for host in
        ["127.0.0.2", "2130706434", "0x7f000002", "0177.0.0.2", "127.2", "[::ffff:127.0.0.2]", "[64:ff9b::7f00:2]"]
    {
        let outcome = sent(&endpoint, &format!("http://{host}:{port}/")).await;
        assert_eq!(outcome, failed(FailureReason::RefusedAddress), "{host}");
    }
    assert_eq!(receiver.connections.load(Ordering::Relaxed), 0);
}

/// Answers each question for an IPv4 address with the next of these; then with the last again. Nothing is cached.
async fn names(addresses: Vec<Ipv4Addr>) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let server = socket.local_addr().expect("an address");
    tokio::spawn(async move {
        let (mut index, mut question) = (0, [0; 512]);
        while let Ok((bytes, asker)) = socket.recv_from(&mut question).await {
            let name_end = 12 + question[12..bytes].iter().position(|byte| *byte == 0).expect("a name") + 1;
            let is_ipv4 = question[name_end..name_end + 2] == [0, 1];
            let mut answer = question[..name_end + 4].to_vec();
            answer[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, u8::from(is_ipv4), 0, 0, 0, 0]);
            if is_ipv4 {
                answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
                answer.extend(addresses[index.min(addresses.len() - 1)].octets());
                index += 1;
            }
            let _ = socket.send_to(&answer, asker).await;
        }
    });
    server
}

#[tokio::test]
async fn a_name_is_judged_by_the_address_that_is_connected_to() {
    let [allowed, refused] = [[127, 0, 0, 1], [127, 0, 0, 2]].map(Ipv4Addr::from);
    let good = Receiver::on(allowed, OK, None).await;
    let port = good.address.port();
    let Ok(secret) = TcpListener::bind((refused, port)).await else { return };
    let reached = Arc::new(AtomicUsize::new(0));
    let count = reached.clone();
    tokio::spawn(async move {
        while secret.accept().await.is_ok() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let dns = Some(names(vec![allowed, refused]).await);
    let rebinding = |config| EndpointConfig { dns, ..config };
    let url = format!("http://rebinding.example:{port}/");
    let first = sent(&endpoint(rebinding(config(&["127.0.0.1/32"]))), &url).await;
    assert_eq!(first, Outcome::Delivered);
    // A new endpoint has no connection that it could use again.
    let second = sent(&endpoint(rebinding(config(&["127.0.0.1/32"]))), &url).await;
    assert_eq!(second, failed(FailureReason::RefusedAddress));
    assert_eq!(reached.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_name_that_there_is_not_is_told() {
    let nowhere = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let dns = nowhere.local_addr().ok();
    tokio::spawn(async move {
        let mut question = [0; 512];
        while let Ok((bytes, asker)) = nowhere.recv_from(&mut question).await {
            // No such name.
            question[2..4].copy_from_slice(&[0x81, 0x83]);
            let _ = nowhere.send_to(&question[..bytes], asker).await;
        }
    });
    let endpoint = endpoint(EndpointConfig { dns, timeout: Duration::from_secs(10), ..config(&[]) });
    assert_eq!(sent(&endpoint, "http://nowhere.example/").await, failed(FailureReason::Dns));
}

#[test]
fn signatures_are_those_of_the_specification() {
    let secret: model::subscribers::SigningSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().expect("a secret");
    let signed = hmac(secret.key(), &[b"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.", b"{\"test\": 2432232314}"]);
    let signed = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, signed);
    assert_eq!(signed, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}
