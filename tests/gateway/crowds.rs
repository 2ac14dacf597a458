//! The limit of connections in all.

use futures_util::future::join_all;

use crate::support::{RawSocket, Refusal, TestGateway, Token};

fn is_full(refusal: &Refusal) {
    assert!(matches!(refusal.status, 429 | 503), "{refusal:?}");
    let after = refusal.headers.get("retry-after").expect("retry-after");
    assert!(after.to_str().expect("ascii").parse::<u32>().is_ok(), "{after:?}");
}

#[tokio::test]
async fn over_the_limit_of_all_an_upgrade_is_a_503_with_retry_after() {
    let gateway = TestGateway::with(&[("limits.connections", "2")]);
    let mut clients = [gateway.connect(1).await, gateway.connect(2).await];
    let refusal = gateway.upgrade().bearer(&Token::of(3).sign()).refused().await;
    is_full(&refusal);
    for client in &mut clients {
        client.still_serves().await;
    }
    clients[0].close(1000).await;
    gateway.wait_for_metric("heartline_connections", |open| open < 2.0).await;
    gateway.connect(3).await;
}

#[tokio::test]
async fn a_socket_without_a_hello_counts_towards_the_limit() {
    let gateway = TestGateway::with(&[("limits.connections", "2")]);
    let _silent =
        [RawSocket::upgrade(gateway.address(), None).await, RawSocket::upgrade(gateway.address(), None).await];
    is_full(&gateway.upgrade().bearer(&Token::of(3).sign()).refused().await);
}

#[tokio::test]
async fn the_connection_limit_holds_for_concurrent_upgrades() {
    let gateway = TestGateway::with(&[("limits.connections", "5")]);
    let attempts = (0..40).map(async |mid| gateway.upgrade().bearer(&Token::of(mid).sign()).attempt().await);
    // No connection closes before all have been answered.
    let upgrades = join_all(attempts).await;
    assert_eq!(upgrades.iter().filter(|upgrade| upgrade.is_ok()).count(), 5);
}
