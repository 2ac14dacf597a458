//! The endpoint of a subscriber, which takes everything.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::support::TestGateway;

/// Settings of a gateway that delivers to it.
pub const SETTINGS: [(&str, &str); 2] =
    [("subscribers.allow_http", "true"), ("subscribers.allow_networks", r#"["127.0.0.1/32"]"#)];

pub struct Subscriber {
    address: SocketAddr,
    got: Arc<Mutex<BTreeSet<String>>>,
}

impl Subscriber {
    /// Of all rewards.
    pub async fn of(gateway: &TestGateway) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let subscriber = Subscriber { address: listener.local_addr().unwrap(), got: Arc::default() };
        let got = subscriber.got.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(take(stream, got.clone()));
            }
        });
        let body = json!({"url": format!("http://{}/", subscriber.address), "types": ["dev.heartline.reward.v1"]});
        assert_eq!(gateway.control().put("/v1/subscribers/all", &body).await.status, 201);
        subscriber
    }

    /// The ids of the events.
    pub fn got(&self) -> BTreeSet<String> {
        self.got.lock().unwrap().clone()
    }
}

/// Confirms each request of a connection. Ends with it.
async fn take(stream: TcpStream, got: Arc<Mutex<BTreeSet<String>>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut length, mut line) = (0, String::new());
        while stream.read_line(&mut line).await? > 2 {
            let header = line.to_ascii_lowercase();
            length = header.strip_prefix("content-length:").map_or(length, |text| text.trim().parse().unwrap());
            line.clear();
        }
        if length == 0 {
            return Ok(());
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let event: Value = serde_json::from_slice(&body).unwrap();
        got.lock().unwrap().insert(event["id"].as_str().unwrap().to_owned());
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await?;
    }
}
