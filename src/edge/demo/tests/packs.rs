//! The stream of history packs.

use super::*;
use domain::history_packs::feed::{DeliveredPack, PackFeed};
use model::shard::Region;

/// The next one.
async fn piece(stream: &mut Body) -> Bytes {
    stream.frame().await.expect("more").expect("a piece").into_data().expect("data")
}

#[tokio::test(start_paused = true)]
async fn the_page_follows_the_packs_of_a_gateway_that_sends_them() {
    let feed = PackFeed::new();
    let shutdown = Shutdown::new(Duration::ZERO);
    let stage = DemoContext { packs: Some(PackStreams::new(feed.clone())), stop: shutdown.stop(), ..context() };
    let (_, process) = ask_of(stage.clone(), of_the_page(Request::get("/demo/process")), "").await;
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&process).expect("JSON")["packs"], true);
    let asked = of_the_page(Request::get("/demo/packs")).body(Body::empty()).expect("a request");
    let Ok(answer): Result<_, Infallible> = router(stage).oneshot(asked).await;
    let (head, mut stream) = answer.into_parts();
    assert_eq!((head.status, header(&head, "content-type")), (StatusCode::OK, "text/event-stream"));
    assert_eq!(piece(&mut stream).await, "retry: 2000\n\n");
    feed.delivered(DeliveredPack { region: Region(19), users: 3, bytes: 812 });
    assert_eq!(piece(&mut stream).await, "event: pack\ndata: {\"region\":19,\"users\":3,\"bytes\":812}\n\n");
    assert_eq!(piece(&mut stream).await, ":\n\n", "a comment while there is none, or it would be cut off");
    assert_eq!(feed.followers(), 1);
    shutdown.drain();
    assert!(stream.frame().await.is_none(), "a drain ends it");
}

#[tokio::test]
async fn a_closed_pack_stream_is_removed() {
    let feed = PackFeed::new();
    let stage = DemoContext { packs: Some(PackStreams::new(feed.clone())), ..context() };
    let open = async || {
        let asked = of_the_page(Request::get("/demo/packs")).body(Body::empty()).expect("a request");
        let Ok(answer): Result<_, Infallible> = router(stage.clone()).oneshot(asked).await;
        answer
    };
    let mut streams = Vec::new();
    while let answer = open().await
        && answer.status() == StatusCode::OK
    {
        streams.push(answer);
    }
    assert_eq!((streams.len(), open().await.status()), (64, StatusCode::SERVICE_UNAVAILABLE));
    streams.pop();
    assert_eq!(feed.followers(), 63);
    assert_eq!(open().await.status(), StatusCode::OK);
    streams.clear();
    assert_eq!(feed.followers(), 0);
}

#[tokio::test]
async fn without_history_packs_there_is_no_stream_of_them() {
    let (head, body) = ask(of_the_page(Request::get("/demo/packs")), "").await;
    assert_eq!(head.status, StatusCode::NOT_FOUND);
    assert!(str::from_utf8(&body).expect("text").contains("history.store"), "{body:?}");
}
