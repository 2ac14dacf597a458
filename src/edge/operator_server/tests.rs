//! Which connection makes room for another.

use std::sync::Arc;

use axum::Extension;
use axum::routing::get;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::ready;
use futures_util::stream::once;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::*;

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(600);
const REQUEST: &str = "GET /now HTTP/1.1\r\nhost: localhost\r\n\r\n";
const LASTING_REQUEST: &str = "GET /when-released HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// A listener with few permits, and a route that answers when it is told to.
struct Fixture {
    address: SocketAddr,
    begun: Arc<Notify>,
    release: Arc<Notify>,
}

impl Fixture {
    async fn with_permits(connections: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (begun, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (told, released) = (begun.clone(), release.clone());
        let wait = async move || {
            told.notify_one();
            released.notified().await;
            "released"
        };
        let router = Router::new().route("/now", get("now")).route("/when-released", get(wait));
        tokio::spawn(serve(listener, router, Bounds { connections, head: LONG, request: LONG }));
        Fixture { address, begun, release }
    }

    async fn sent(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("a listener");
        stream.write_all(text.as_bytes()).await.expect("room");
        stream
    }

    async fn in_progress(&self) -> TcpStream {
        let stream = self.sent(LASTING_REQUEST).await;
        self.begun.notified().await;
        stream
    }
}

/// Everything received until the listener closes the connection.
async fn until_closed(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // A reset is an end like any other.
    let ended = timeout(Duration::from_secs(60), stream.read_to_end(&mut answer)).await;
    assert!(ended.is_ok(), "still open");
    String::from_utf8(answer).expect("text")
}

#[tokio::test]
async fn the_connection_that_has_waited_longest_for_its_request_makes_room() {
    let fixture = Fixture::with_permits(3).await;
    let oldest = fixture.sent("").await;
    let half_a_head = fixture.sent("GET /now HTTP/1.1\r\n").await;
    let mut newest = fixture.sent("").await;
    assert!(until_closed(fixture.sent(REQUEST).await).await.ends_with("now"));
    assert_eq!(until_closed(oldest).await, "");
    let another = fixture.in_progress().await;
    let yet_another = fixture.in_progress().await;
    assert_eq!(until_closed(half_a_head).await, "");
    newest.write_all(REQUEST.as_bytes()).await.expect("it is open");
    assert!(until_closed(newest).await.ends_with("now"));
    fixture.release.notify_waiters();
    for answered in [another, yet_another] {
        assert!(until_closed(answered).await.ends_with("released"));
    }
}

#[tokio::test]
async fn a_request_in_progress_is_not_cut() {
    let fixture = Fixture::with_permits(2).await;
    let requests = [fixture.in_progress().await, fixture.in_progress().await];
    for _ in 0..5 {
        assert_eq!(until_closed(fixture.sent(REQUEST).await).await, "", "closed as it comes");
    }
    fixture.release.notify_waiters();
    for answered in requests {
        assert!(until_closed(answered).await.ends_with("released"));
    }
    assert!(until_closed(fixture.sent(REQUEST).await).await.ends_with("now"), "there is room again");
}

#[tokio::test]
async fn idle_connections_keep_no_request_out() {
    let fixture = Fixture::with_permits(2).await;
    let mut crowd = Vec::new();
    for _ in 0..100 {
        crowd.push(fixture.sent("").await);
        assert!(until_closed(fixture.sent(REQUEST).await).await.ends_with("now"));
    }
}

#[tokio::test]
async fn a_long_answer_has_no_permit_and_no_time_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let release = Arc::new(Notify::new());
    let released = release.clone();
    let stream = async move |Extension(long_answer): Extension<LongAnswer>| {
        long_answer.begins();
        let rest = async move {
            released.notified().await;
            Ok::<_, Infallible>(Bytes::from_static(b"the rest"))
        };
        Body::from_stream(once(ready(Ok(Bytes::from_static(b"begun")))).chain(once(rest)))
    };
    let router =
        Router::new().route("/now", get("now")).route("/stream", get(stream)).route("/never", get(pending::<()>));
    // As soon as it can be, so that the request that ends by it comes after the stream.
    let request = Duration::from_millis(50);
    tokio::spawn(serve(listener, router, Bounds { connections: 1, head: LONG, request }));
    let fixture = Fixture { address, begun: Arc::default(), release };

    let mut long = fixture.sent("GET /stream HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let mut begun = Vec::new();
    while !begun.ends_with(b"begun\r\n") {
        assert_ne!(long.read_buf(&mut begun).await.expect("an answer"), 0, "closed");
    }
    assert_eq!(until_closed(fixture.sent("GET /never HTTP/1.1\r\nhost: localhost\r\n\r\n").await).await, "");
    fixture.release.notify_one();
    assert!(until_closed(long).await.contains("the rest"));
}
