//! The stored state of one user is damaged: nothing of that user is acked, and others go on.

use redis::{Client, Connection, cmd};
use serde_json::json;

use crate::support::{MID, TestClient, TestGateway, beat, beats, items};

const OTHER: u64 = 7;
const REFUSED: &str = "heartline_unreadable_changes_total";

/// Writes the user's key of this kind; returns what it was.
fn overwrite(connection: &mut Connection, kind: &str, value: &[u8]) -> (String, Vec<u8>) {
    let keys: Vec<String> = cmd("KEYS").arg(format!("*:{kind}:{MID}")).query(connection).expect("keys");
    let [key] = <[String; 1]>::try_from(keys).expect("one key");
    let before = cmd("DUMP").arg(&key).query(connection).expect("a value");
    cmd("SET").arg(&key).arg(value).exec(connection).expect("a string");
    (key, before)
}

fn put_back(connection: &mut Connection, (key, value): (String, Vec<u8>)) {
    cmd("RESTORE").arg(&key).arg(0).arg(value).arg("REPLACE").exec(connection).expect("a value");
}

async fn is_refused(gateway: &TestGateway, mut client: TestClient) {
    let mut other = gateway.connect(OTHER).await;
    let at = client.now();
    let delete = json!({"delete": {"items": [{"kind": 1, "oid": "1"}], "at": at}});
    let seq = client.send(delete).await;
    assert_eq!(client.answer(seq).await["error"]["code"], "unavailable");
    let body = items([beat(1, at + 1)]);
    gateway.http(MID).post("/v1/beats", &body).await.problem(503, "unavailable");
    client.send(beats([beat(1, at + 1)])).await;
    other.watch([beat(1, at)]).await;
    assert_eq!(client.closed().await, 1013);
    assert!(client.kept("ack").is_empty());
}

#[tokio::test]
#[ignore = "needs Redis: tests/run gateway-redis"]
async fn a_user_whose_state_cannot_be_read_does_not_hold_up_others() {
    let mut gateway = TestGateway::on_redis(&[]);
    let redis = Client::open(gateway.redis_url()).expect("an address");
    let mut connection = redis.get_connection().expect("a connection");
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    // The second one moves the first one out of the head.
    client.watch([beat(1, at)]).await;
    client.watch([beat(2, at + 1)]).await;
    for kind in ["h", "r"] {
        // So that nothing of the user is remembered.
        gateway.restart();
        let client = gateway.connect(MID).await;
        let before = overwrite(&mut connection, kind, b"\xffnot a row");
        is_refused(&gateway, client).await;
        assert_eq!(gateway.metric(REFUSED).await, 3.0);
        assert!(gateway.log().contains("stored_state_unreadable"), "{}", gateway.log());
        put_back(&mut connection, before);
        let mut client = gateway.connect(MID).await;
        let at = client.now();
        client.watch([beat(1, at)]).await;
    }
}

/// The gateway remembers the user, and writes without reading first.
#[tokio::test]
#[ignore = "needs Redis: tests/run gateway-redis"]
async fn a_key_of_another_type_is_found_when_it_is_written() {
    let gateway = TestGateway::on_redis(&[]);
    let redis = Client::open(gateway.redis_url()).expect("an address");
    let mut connection = redis.get_connection().expect("a connection");
    let mut other = gateway.connect(OTHER).await;
    for kind in ["h", "r", "t"] {
        let mut client = gateway.connect(MID).await;
        let at = client.now();
        for oid in 1..=3 {
            client.watch([beat(oid, at + oid)]).await;
        }
        let keys: Vec<String> = cmd("KEYS").arg(format!("*:{kind}:{MID}")).query(&mut connection).expect("keys");
        let before: Vec<u8> = cmd("DUMP").arg(&keys[0]).query(&mut connection).expect("a value");
        cmd("DEL").arg(&keys[0]).exec(&mut connection).expect("gone");
        cmd("LPUSH").arg(&keys[0]).arg("not ours").exec(&mut connection).expect("a list");
        client.send(beats([beat(100, at + 10)])).await;
        other.watch([beat(1, at)]).await;
        assert_eq!(client.closed().await, 1013, "{kind}");
        assert!(client.kept("ack").is_empty());
        let still: String = cmd("TYPE").arg(&keys[0]).query(&mut connection).expect("a type");
        assert_eq!(still, "list", "it was overwritten");
        put_back(&mut connection, (keys[0].clone(), before));
    }
}
