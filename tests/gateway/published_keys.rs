//! Keys that an issuer publishes at a URL: rotated, and served badly in every way.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::support::keys::{EC_1, EC_2, ED_1, RSA_1, TestKey, key_set};
use crate::support::redis_server::free_port;
use crate::support::{Http, MID, TestGateway, Token, until};

const PATH: &str = "/.well-known/jwks.json";
/// No test waits for more of a body without an end.
const HUGE: usize = 1 << 30;

/// What the issuer answers.
#[derive(Clone)]
pub enum Answer {
    Keys(String),
    Status(u16),
    Garbage,
    Huge,
    Nothing,
    /// To this URL.
    Redirect(String),
}

/// An HTTP server with a configurable answer.
pub struct Issuer {
    address: SocketAddr,
    answer: Arc<Mutex<Answer>>,
    requests: Arc<AtomicUsize>,
    /// Bytes of bodies without an end that were taken from it.
    taken: Arc<AtomicUsize>,
}

pub fn keys(keys: &[&TestKey]) -> Answer {
    Answer::Keys(key_set(keys.iter().map(|key| key.jwk())))
}

impl Issuer {
    pub async fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let issuer = Issuer {
            address: listener.local_addr().expect("an address"),
            answer: Arc::new(Mutex::new(answer)),
            requests: Arc::default(),
            taken: Arc::default(),
        };
        let (answer, requests, taken) = (issuer.answer.clone(), issuer.requests.clone(), issuer.taken.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                requests.fetch_add(1, Ordering::Relaxed);
                let answer = answer.lock().expect("no panic").clone();
                tokio::spawn(respond(stream, answer, taken.clone()));
            }
        });
        issuer
    }

    pub fn answers(&self, answer: Answer) {
        *self.answer.lock().expect("no panic") = answer;
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    async fn gateway(&self, further: &[(&'static str, String)]) -> TestGateway {
        let url = self.url();
        let mut settings = vec![("auth.hs256_secret", String::new()), ("auth.jwks_url", url)];
        settings.extend(further.iter().cloned());
        let started = tokio::task::spawn_blocking(move || {
            let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
            TestGateway::with(&settings)
        });
        started.await.expect("it starts")
    }
}

async fn respond(mut stream: TcpStream, answer: Answer, taken: Arc<AtomicUsize>) -> std::io::Result<()> {
    let mut request = vec![0; 4_096];
    let read = stream.read(&mut request).await?;
    let request = String::from_utf8_lossy(&request[..read]).into_owned();
    assert!(request.starts_with(&format!("GET {PATH} HTTP/1.1\r\n")), "{request}");
    let body = |status: &str, headers: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}", body.len())
    };
    let text = match answer {
        Answer::Keys(set) => body("200 OK", "", &set),
        Answer::Status(status) => body(&format!("{status} No"), "", "no"),
        Answer::Garbage => body("200 OK", "", "<html>sign in first</html>"),
        Answer::Redirect(url) => body("302 Found", &format!("location: {url}\r\n"), ""),
        Answer::Nothing => {
            sleep(Duration::from_secs(60)).await;
            String::new()
        }
        Answer::Huge => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {HUGE}\r\n\r\n");
            stream.write_all(head.as_bytes()).await?;
            loop {
                stream.write_all(&[b' '; 65_536]).await?;
                taken.fetch_add(65_536, Ordering::Relaxed);
            }
        }
    };
    stream.write_all(text.as_bytes()).await
}

fn token(key: &TestKey) -> String {
    key.sign(Token::of(MID).claims())
}

async fn accepted(gateway: &TestGateway, key: &TestKey) {
    gateway.upgrade().bearer(&token(key)).welcomed().await.still_serves().await;
}

async fn refused(gateway: &TestGateway, key: &TestKey) {
    let answer = gateway.anonymous_http().bearer(&token(key)).get("/v1/history").await;
    assert_eq!(answer.problem(401, "unauthorized")["detail"], json!("kid unknown"));
}

#[tokio::test]
async fn a_new_key_lets_its_first_token_in_by_every_way() {
    let issuer = Issuer::start(keys(&[&RSA_1])).await;
    let gateway = issuer.gateway(&[]).await;
    accepted(&gateway, &RSA_1).await;
    refused(&gateway, &ED_1).await;
    assert_eq!(issuer.requests(), 2, "it was asked for the unknown key, too");
    // The next one is asked for by the clock only, since anybody can invent one.
    refused(&gateway, &ED_1).await;
    assert_eq!(issuer.requests(), 2);

    // Each begins with the one unknown key that may be asked for.
    for way in ["header", "subprotocol", "hello", "http", "control", "renewal"] {
        issuer.answers(keys(&[&RSA_1]));
        let callers = r#"[{ name = "shop", scopes = ["heartline.live"] }]"#.to_owned();
        let gateway = issuer.gateway(&[("control.callers", callers)]).await;
        let mut client = gateway.upgrade().bearer(&token(&RSA_1)).welcomed().await;
        issuer.answers(keys(&[&EC_2]));
        let new = token(&EC_2);
        match way {
            "header" => drop(gateway.upgrade().bearer(&new).welcomed().await),
            "subprotocol" => drop(gateway.upgrade().token_as_protocol(&new).welcomed().await),
            "hello" => {
                let mut client = gateway.upgrade().open().await;
                client.send(json!({"hello": {"token": new}})).await;
                client.wait_for_welcome().await;
            }
            "control" => {
                let claims = Token::of(MID).claim("sub", "shop").claim("scope", "heartline.live");
                let caller = Http::to(gateway.control_address()).bearer(&EC_2.sign(claims.claims()));
                assert_eq!(caller.get("/v1/live").await.status, 200);
            }
            "http" => assert_eq!(gateway.anonymous_http().bearer(&new).get("/v1/history").await.status, 200),
            _ => {
                let result = client.call(json!({"token": {"token": new}})).await;
                assert!(result["expires"].is_number(), "{result}");
            }
        }
        client.still_serves().await;
    }
}

#[tokio::test]
async fn tokens_of_the_last_good_keys_work_while_the_issuer_answers_badly() {
    let issuer = Issuer::start(keys(&[&RSA_1, &EC_1])).await;
    let other = Issuer::start(keys(&[&ED_1])).await;
    let gateway = issuer.gateway(&[]).await;
    let bad = [
        Answer::Status(500),
        Answer::Garbage,
        Answer::Huge,
        Answer::Nothing,
        Answer::Redirect(other.url()),
        Answer::Keys(r#"{"keys":[]}"#.to_owned()),
    ];
    for (index, answer) in bad.into_iter().enumerate() {
        issuer.answers(answer);
        gateway.hang_up();
        gateway.wait_for_metric("heartline_jwks_fetches_total{result=\"failed\"}", |count| count > index as f64).await;
        accepted(&gateway, &RSA_1).await;
        let readiness: Value = gateway.admin().get("/readyz").await.json();
        let degraded = readiness["degraded"].to_string();
        assert!(degraded.contains("auth.jwks_url") && degraded.contains("the last good keys"), "{readiness}");
    }
    assert_eq!(other.requests(), 0, "it was sent to another host");
    assert!(issuer.taken.load(Ordering::Relaxed) < HUGE / 16, "a body without an end was read");
    issuer.answers(keys(&[&RSA_1]));
    gateway.hang_up();
    until("it is no problem any more", async || gateway.admin().get("/readyz").await.json()["degraded"].is_null())
        .await;
    assert!(gateway.metric("heartline_jwks_age_seconds").await < 60.0);
    refused(&gateway, &EC_1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_waits_for_the_first_keys_and_the_next_one_does_not() {
    let issuer = Issuer::start(Answer::Status(503)).await;
    let [public, admin] = [free_port(), free_port()].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let listen = [("server.listen", public.to_string()), ("admin.listen", admin.to_string())];
    let began = Instant::now();
    let waiting = async {
        until("the probes answer", async || TcpStream::connect(admin).await.is_ok()).await;
        let probe = Http::to(admin);
        until("they answer", async || probe.get("/healthz").await.status == 200).await;
        let readiness = probe.get("/readyz").await;
        let (status, body) = (readiness.status, readiness.text());
        assert!(status == 503 && body.contains("it answered 503"), "{status} {body}");
        assert!(TcpStream::connect(public).await.is_err(), "the public port is open before there are keys");
        issuer.answers(keys(&[&RSA_1]));
    };
    let (mut gateway, ()) = tokio::join!(issuer.gateway(&listen), waiting);
    println!("served after {:?}", began.elapsed());
    accepted(&gateway, &RSA_1).await;
    issuer.answers(Answer::Status(503));
    tokio::task::block_in_place(|| gateway.restart());
    accepted(&gateway, &RSA_1).await;
    assert!(gateway.log().contains("the kept keys are in force"));
}
