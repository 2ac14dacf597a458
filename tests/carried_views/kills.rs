//! Gateways and the statistics store are killed while views are sent, and each session counts once.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::carried_views::mongo_server::MongoServer;
use crate::carried_views::pages::*;
use crate::carried_views::support::{Token, until};

const OID: u64 = 100;
const ROUNDS: u64 = 4;
const CLIENTS: u64 = 16;
/// Of each client in a round.
const SESSIONS: u64 = 25;
/// A round's kill comes after so many of its answers.
const BEFORE_THE_KILL: u64 = 50;

/// What all clients of a round have seen.
#[derive(Default)]
struct Seen {
    answered: AtomicU64,
    unanswered: AtomicU64,
}

/// `None`: it is not known whether the view is counted.
async fn post(address: SocketAddr, mid: u64, session: u64) -> Option<Value> {
    let body = json!({"session": session.to_string()}).to_string();
    let request = format!(
        "POST /v1/views/3/{OID} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        Token::of(mid).sign(),
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    match head.split(' ').nth(1) {
        Some("200") => Some(serde_json::from_str(body).expect("JSON")),
        Some("503") => None,
        _ => panic!("{answer}"),
    }
}

/// Sends these sessions one after the other, each until it is answered, by the gateways in turn.
async fn view_all(mut gateways: [SocketAddr; 2], mid: u64, sessions: Range<u64>, seen: Arc<Seen>) {
    for session in sessions {
        while post(gateways[0], mid, session).await.is_none() {
            seen.unanswered.fetch_add(1, Ordering::Relaxed);
            gateways.reverse();
        }
        seen.answered.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
#[ignore = "needs Redis and MongoDB's protocol: tests/run statistics"]
async fn whatever_is_killed_each_session_counts_once() {
    let mut server = MongoServer::start();
    let one = gateway(&database_at(&server.url()));
    let other = one.neighbour();
    let mut gateways = [one, other];
    let mut unanswered = 0;
    for round in 0..ROUNDS {
        let seen = Arc::new(Seen::default());
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let mut addresses = [gateways[0].address(), gateways[1].address()];
                addresses.rotate_left((client % 2) as usize);
                let first = round * SESSIONS;
                tokio::spawn(view_all(addresses, client, first..first + SESSIONS, seen.clone()))
            })
            .collect();
        until("some answers", async || seen.answered.load(Ordering::Relaxed) >= BEFORE_THE_KILL).await;
        if round % 2 == 1 {
            server.kill();
        }
        let victim = &mut gateways[(round / 2 % 2) as usize];
        victim.kill();
        for client in clients {
            client.await.expect("all sessions are answered");
        }
        *victim = victim.beside().expect("a start");
        if round % 2 == 1 {
            server.start_again();
        }
        unanswered += seen.unanswered.load(Ordering::Relaxed);
    }
    let expected = ROUNDS * CLIENTS * SESSIONS;
    for gateway in &gateways {
        wait_for_days(gateway, OID, expected).await;
        assert_eq!(totals(gateway, &[OID]).await, json!({"views": [expected]}));
    }
    eprintln!("{unanswered} requests were not answered");
    assert!(unanswered > 0, "no kill came while a view was under way");
}
