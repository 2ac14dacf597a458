//! The clients of changes, as commit listeners get them.

use heartline::domain::commit_listener::{CommitListener, CommittedGroup};
use heartline::model::visitor::{Browser, Country, DeviceClass, Os, Visitor};
use parking_lot::Mutex;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use super::beat;
use super::fixture::Fixture;
use super::sockets::{connect_with, received, send};

const TV: &str =
    "Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/87.0.4280.88 Safari/537.36";

/// The visitor of each change that was committed.
#[derive(Default)]
pub struct HeardVisitors(Mutex<Vec<Visitor>>);

impl CommitListener for HeardVisitors {
    fn name(&self) -> &'static str {
        "heard_visitors"
    }

    fn committed(&self, group: &CommittedGroup) {
        self.0.lock().extend(group.changes.iter().map(|change| change.visitor));
    }
}

impl HeardVisitors {
    /// Those of the changes that are committed; listeners hear of a commit after the answer.
    async fn so_many(&self, number: usize) -> Vec<Visitor> {
        while self.0.lock().len() < number {
            tokio::task::yield_now().await;
        }
        self.0.lock().clone()
    }
}

fn tv() -> Visitor {
    Visitor {
        device: Some(DeviceClass::Tv),
        os: Os::of("Web0S"),
        browser: Browser::of("Chrome"),
        country: Country::of("DE"),
    }
}

#[tokio::test]
async fn beats_of_a_socket_come_with_the_client_of_its_upgrade() {
    let serve = async {
        let fixture = Fixture::new();
        let authorization = format!("Bearer {}", fixture.token);
        let headers = [("authorization", authorization.as_str()), ("user-agent", TV)];
        let mut socket = connect_with(fixture.listen().await, &headers).await;
        assert!(received(&mut socket).await["welcome"].is_object());
        send(&mut socket, json!({"seq": 1, "beats": {"items": [beat(&fixture, 100, 0, "playing")]}})).await;
        assert_eq!(fixture.heard_visitors.so_many(1).await, [tv()]);
    };
    LocalSet::new().run_until(serve).await;
}

#[tokio::test]
async fn beats_of_a_request_come_with_its_client() {
    let serve = async {
        let fixture = Fixture::new();
        let address = fixture.listen().await;
        for (oid, user_agent) in [(100, format!("user-agent: {TV}\r\n")), (101, String::new())] {
            let body = json!({"items": [beat(&fixture, oid, 0, "playing")]}).to_string();
            let head = format!(
                "POST /v1/beats HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n{user_agent}connection: close\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n",
                fixture.token,
                body.len()
            );
            let mut stream = TcpStream::connect(address).await.expect("the gateway listens");
            stream.write_all((head + &body).as_bytes()).await.expect("sent");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("an answer");
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        let only_country = Visitor { country: Country::of("DE"), ..Visitor::default() };
        assert_eq!(fixture.heard_visitors.so_many(2).await, [tv(), only_country]);
    };
    LocalSet::new().run_until(serve).await;
}
