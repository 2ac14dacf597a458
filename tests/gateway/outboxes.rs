//! Clients that reconnect with full outboxes: one long frame after the other, and all are answered.

use futures_util::future::join_all;
use serde_json::json;

use crate::support::{TestClient, TestGateway, beat, beats};

/// Some 50 KiB.
async fn send_outbox(client: &mut TestClient, first_oid: u64) -> u32 {
    let at = client.now() - 1_000;
    client.send(beats((first_oid..first_oid + 400).map(|oid| beat(oid, at)))).await
}

#[tokio::test]
async fn all_clients_that_reconnect_at_once_are_acked_whatever_else_they_send() {
    let gateway = TestGateway::start();
    let mut clients = join_all((1..=12).map(|mid| gateway.connect(mid))).await;
    let outboxes = clients.iter_mut().zip(0..).map(async |(client, number)| {
        if number % 2 == 0 {
            client.send(json!({"hello": {"ack_delay": 30_000}})).await;
        }
        send_outbox(client, 0).await;
        let last = send_outbox(client, 400).await;
        let list = client.send(json!({"list": {"limit": 200}})).await;
        client.acked(last).await;
        let listed = client.answer(list).await["result"]["records"].as_array().map(Vec::len);
        assert_eq!(listed, Some(200));
        let at = client.now();
        client.watch([beat(1_000, at)]).await;
    });
    join_all(outboxes).await;
}

#[tokio::test]
async fn a_client_that_leaves_while_it_waits_gives_its_turn_to_others() {
    let gateway = TestGateway::start();
    for mid in 1..=6 {
        let mut client = gateway.connect(mid).await;
        send_outbox(&mut client, 0).await;
        drop(client);
    }
    let mut client = gateway.connect(7).await;
    let sent = send_outbox(&mut client, 0).await;
    client.acked(sent).await;
}
