//! Signals that come before anything is served.

use std::net::TcpListener;

use crate::support::{Starting, TestGateway};

/// A Redis that takes connections and says nothing: a start waits for it.
struct SilentRedis(TcpListener);

impl SilentRedis {
    fn new() -> Self {
        SilentRedis(TcpListener::bind("127.0.0.1:0").expect("a free port"))
    }

    fn url(&self) -> String {
        format!("redis://{}", self.0.local_addr().expect("an address"))
    }

    /// Until somebody waits for its answers.
    fn is_asked(&self) {
        self.0.accept().expect("a connection");
    }
}

#[tokio::test]
async fn while_it_waits_for_redis_sighup_ends_nothing_and_sigterm_ends_it_at_once() {
    let kafka = [("events.event_bus", "kafka"), ("kafka.brokers", r#"["127.0.0.1:1"]"#)];
    for (words, signal) in [(&["serve"][..], "TERM"), (&["serve"], "INT"), (&["serve", "--role", "cascade"], "TERM")] {
        let redis = SilentRedis::new();
        let url = redis.url();
        let settings = [("store.hot_store", "redis"), ("redis.url", &url)];
        let mut starting = Starting::with(words, &[&settings[..], &kafka].concat());
        redis.is_asked();
        starting.signal("HUP");
        starting.signal(signal);
        let ended = starting.ended().await;
        assert_eq!(ended.code(), Some(0), "{words:?} {signal}: {ended:?}");
    }
}

#[tokio::test]
async fn the_first_signal_after_the_start_drains() {
    let mut gateway = TestGateway::start();
    gateway.hang_up();
    gateway.wait_for_log("keys reloaded").await;
    gateway.terminate();
    assert_eq!(gateway.ended().await.code(), Some(0));
    assert!(gateway.log().contains("draining"), "{}", gateway.log());
}
