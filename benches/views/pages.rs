//! Pages that ask a gateway over HTTP: ten times the load that a classifieds site has published for its counter.

use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tokio::time::{sleep, sleep_until};

use crate::cpu::Cpu;
use crate::gateway::{Gateway, token};
use crate::times::Times;
use crate::{CONTENTS, KIND, Options};

/// Totals of a request.
const BATCH: u64 = 100;
/// Requests a second: 50,000 totals read, 1,500 views counted.
const READS: f64 = 500.0;
const VIEWS: f64 = 1_500.0;
/// Connections for each of both, one request at a time each.
const CONNECTIONS: u64 = 64;
/// For the highest rate.
const CROWD: u64 = 256;
const TOKENS: u64 = 1_000;
/// Until the totals of all contents are in the cache of Redis, if that is where they are counted.
const WARM_UP: Duration = Duration::from_secs(30);
/// Until their sums are in MongoDB.
const REST: Duration = Duration::from_secs(20);
/// MongoDB may be busy with a flight: then a total that is not in the cache is not known.
const AGAIN: Duration = Duration::from_millis(100);

#[derive(Clone, Copy)]
enum Ask {
    Totals,
    View,
}

pub fn run(options: &Options) {
    let gateway = Gateway::start();
    let tokens: Rc<[String]> = (1..=TOKENS).map(token).collect();
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    LocalSet::new().block_on(&runtime, async {
        println!("warming up, until each content was viewed:");
        load(&gateway, &tokens, WARM_UP, &[(Ask::View, Some(4.0 * VIEWS))]).await;
        sleep(REST).await;
        println!("{READS:.0} requests/s of {BATCH} totals:");
        load(&gateway, &tokens, options.time(), &[(Ask::Totals, Some(READS))]).await;
        println!("{VIEWS:.0} views/s:");
        load(&gateway, &tokens, options.time(), &[(Ask::View, Some(VIEWS))]).await;
        println!("both:");
        load(&gateway, &tokens, options.time(), &[(Ask::Totals, Some(READS)), (Ask::View, Some(VIEWS))]).await;
        println!("the highest rate of views, {CROWD} connections:");
        load(&gateway, &tokens, options.time(), &[(Ask::View, None)]).await;
    });
}

/// `asks`: with requests a second, or as many as there can be.
async fn load(gateway: &Gateway, tokens: &Rc<[String]>, time: Duration, asks: &[(Ask, Option<f64>)]) {
    let before = total(gateway, &tokens[0]).await;
    let (began, cpu) = (Instant::now(), Cpu::read(&gateway.pid()));
    let mut views = 0;
    let loads = asks.iter().map(|(ask, rate)| async move { (*ask, all(gateway, tokens, time, *ask, *rate).await) });
    for (ask, times) in join_all(loads).await {
        let (name, reads) = match ask {
            Ask::Totals => ("reads", BATCH as usize),
            Ask::View => ("views", 1),
        };
        views += if matches!(ask, Ask::View) { times.count() as u64 } else { 0 };
        let count = (times.count() * reads) as f64;
        println!("  {:>8.0} {name}/s: {}", count / time.as_secs_f64(), times.sorted());
    }
    let used = Cpu::read(&gateway.pid()).since(cpu).total();
    println!("  the gateway used {:.1} % of a core", used / began.elapsed().as_micros() as f64 * 100.0);
    let counted = total(gateway, &tokens[0]).await - before;
    assert_eq!(counted, views, "each view that was answered is in the totals");
}

async fn all(gateway: &Gateway, tokens: &Rc<[String]>, time: Duration, ask: Ask, rate: Option<f64>) -> Times {
    let count = if rate.is_some() { CONNECTIONS } else { CROWD };
    let began = Instant::now() + Duration::from_millis(200);
    let members = (0..count).map(|number| {
        let (address, tokens) = (gateway.address.clone(), tokens.clone());
        tokio::task::spawn_local(async move {
            let mut page = Page::open(&address, tokens, number).await;
            let pause = rate.map(|rate| Duration::from_secs_f64(count as f64 / rate));
            let offset = pause.unwrap_or_default().mul_f64(number as f64 / count as f64);
            page.ask_until(began + offset, began + time, pause, ask).await
        })
    });
    let mut times = Times::default();
    for of_one in join_all(members).await {
        times.join(of_one.expect("a page"));
    }
    times
}

struct Page {
    connection: SendRequest<Full<Bytes>>,
    tokens: Rc<[String]>,
    dice: SmallRng,
}

impl Page {
    async fn open(address: &str, tokens: Rc<[String]>, number: u64) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("a socket option");
        let (connection, driver) = handshake(TokioIo::new(stream)).await.expect("HTTP");
        tokio::task::spawn_local(driver);
        Page { connection, tokens, dice: SmallRng::seed_from_u64(rand::random::<u64>() ^ number) }
    }

    /// From when each request was due. `pause`: from one to the next, however long it takes; without one, at once.
    async fn ask_until(&mut self, mut due: Instant, end: Instant, pause: Option<Duration>, ask: Ask) -> Times {
        let mut times = Times::default();
        while due < end {
            sleep_until(due.into()).await;
            let answer = match ask {
                Ask::Totals => self.totals().await,
                Ask::View => self.view().await,
            };
            assert!(answer.is_object(), "{answer}");
            times.add(due.elapsed());
            due = pause.map_or_else(Instant::now, |pause| due + pause);
        }
        times
    }

    async fn totals(&mut self) -> Value {
        let items: Vec<Value> = (0..BATCH).map(|_| json!({ "kind": KIND, "oid": self.oid() })).collect();
        self.post("/v1/views/get", &json!({ "items": items })).await
    }

    async fn view(&mut self) -> Value {
        let path = format!("/v1/views/{KIND}/{}", self.oid());
        let session: u64 = self.dice.random();
        self.post(&path, &json!({ "session": session.to_string() })).await
    }

    fn oid(&mut self) -> String {
        self.dice.random_range(0..CONTENTS).to_string()
    }

    async fn post(&mut self, path: &str, body: &Value) -> Value {
        let token = &self.tokens[self.dice.random_range(0..self.tokens.len())];
        let request = Request::post(path)
            .header("host", "localhost")
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(Full::from(body.to_string()))
            .expect("a request");
        self.connection.ready().await.expect("a connection");
        let answer = self.connection.send_request(request).await.expect("an answer");
        assert_eq!(answer.status(), 200);
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        serde_json::from_slice(&body).expect("JSON")
    }
}

/// Of all contents.
async fn total(gateway: &Gateway, token: &str) -> u64 {
    let mut page = Page::open(&gateway.address, Rc::from([token.to_owned()]), 0).await;
    let mut sum = 0;
    for first in (0..CONTENTS).step_by(500) {
        let item = |oid: u64| json!({ "kind": KIND, "oid": oid.to_string() });
        let asked = json!({ "items": (first..first + 500).map(item).collect::<Vec<_>>() });
        sum += loop {
            let answer = page.post("/v1/views/get", &asked).await;
            let totals = answer["views"].as_array().expect("totals").iter().map(Value::as_u64);
            match totals.sum::<Option<u64>>() {
                Some(sum) => break sum,
                None => sleep(AGAIN).await,
            }
        };
    }
    sum
}
