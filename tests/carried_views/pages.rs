//! A gateway that counts views of pages, and what it is asked.

use serde_json::{Value, json};

use crate::carried_views::support::{MID, TestGateway, until};

const SERVER: &str = "HEARTLINE_TEST_MONGO";

/// The address of the server for all tests.
pub fn shared() -> String {
    std::env::var(SERVER).unwrap_or_else(|_| panic!("{SERVER} is not set; run: tests/run statistics"))
}

/// The settings of a gateway with a database of its own there.
pub fn database_at(url: &str) -> Vec<(String, String)> {
    let database = format!("test-{:016x}", rand::random::<u64>());
    let settings = [
        ("statistics.store", "mongodb"),
        ("statistics.url", url),
        ("statistics.database", &database),
        ("counters.flush_interval", "100ms"),
        // The tests look again and again, as one user.
        ("limits.frames_per_second", "1000000"),
        ("limits.burst", "1000000"),
    ];
    settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

/// On a Redis of its own.
pub fn gateway(settings: &[(String, String)]) -> TestGateway {
    TestGateway::on_redis(&borrowed(settings))
}

pub fn borrowed(settings: &[(String, String)]) -> Vec<(&str, &str)> {
    settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// A view of a page by a session.
pub async fn view(gateway: &TestGateway, oid: u64, session: u64) -> Value {
    let body = json!({"session": session.to_string()});
    gateway.http(MID).post(&format!("/v1/views/3/{oid}"), &body).await.json()
}

pub async fn totals(gateway: &TestGateway, oids: &[u64]) -> Value {
    let items: Vec<Value> = oids.iter().map(|oid| json!({"kind": 3, "oid": oid})).collect();
    gateway.http(MID).post("/v1/views/get", &json!({"items": items})).await.json()
}

/// All that `GET …/days` says of the last 30 days: the total, and the sum of the days.
pub async fn days(gateway: &TestGateway, oid: u64) -> Option<(u64, u64)> {
    let answer = gateway.http(MID).get(&format!("/v1/views/3/{oid}/days")).await;
    if answer.status != 200 {
        return None;
    }
    let of_days = answer.json()["days"].as_array()?.iter().map(|day| day["views"].as_u64()).sum::<Option<u64>>()?;
    Some((answer.json()["total"].as_u64()?, of_days))
}

/// Waits until the statistics store has all of these views.
pub async fn wait_for_days(gateway: &TestGateway, oid: u64, views: u64) {
    until(&format!("{views} views of {oid}"), async || days(gateway, oid).await == Some((views, views))).await;
}

/// What `/readyz` says of a gateway that is ready.
pub async fn degraded(gateway: &TestGateway) -> Vec<String> {
    let ready = gateway.admin().get("/readyz").await;
    assert_eq!(ready.status, 200, "{}", ready.text());
    let ready = ready.json();
    let said = ready["degraded"].as_array().into_iter().flatten();
    said.map(|line| line.as_str().expect("a text").to_owned()).collect()
}

pub async fn delete(gateway: &TestGateway, oid: u64) -> u16 {
    gateway.control().delete(&format!("/v1/views/3/{oid}")).await.status
}
