//! `heartline health`, `heartline hash`, and `heartline rebuild` where there is nothing to rebuild.

use serde_json::json;

use crate::support::{MID, NEVER, TestGateway, run};

fn health(address: &str) -> (Option<i32>, String) {
    let output = run(&["health"], &[("admin.listen", address)]);
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}

#[tokio::test]
async fn a_gateway_is_healthy_until_it_drains_or_is_gone() {
    let mut gateway = TestGateway::with(&[("server.drain_timeout", NEVER)]);
    let address = gateway.admin_address().to_string();
    assert_eq!(health(&address), (Some(0), String::new()));
    let everywhere = format!("0.0.0.0:{}", gateway.admin_address().port());
    assert_eq!(health(&everywhere).0, Some(0));
    // Does not close of itself, so the drain lasts.
    let holder = gateway.raw(MID).await;
    gateway.terminate();
    gateway.wait_for_drain().await;
    assert_eq!(health(&address), (Some(1), "heartline: not ready: draining\n".to_owned()));
    drop(holder);
    gateway.ended().await;
    let (code, said) = health(&address);
    assert_eq!((code, said.lines().count()), (Some(1), 1), "{said}");
    assert!(said.contains(&address) && said.contains("admin.listen"), "{said}");
}

#[tokio::test]
async fn the_hash_of_a_user_is_that_of_the_log() {
    let settings = [("log.mid_key", "a key"), ("log.format", "json")];
    let gateway = TestGateway::with(&settings);
    gateway.control().post("/v1/kick", &json!({"mid": "42"})).await;
    let output = run(&["hash", "42"], &settings);
    let hash = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success() && hash.trim().len() == 16, "{hash}");
    let log = gateway.log();
    let kicked = log.lines().find(|line| line.contains("kicked")).expect("a line");
    assert!(kicked.contains(hash.trim()), "{hash} in {kicked}");

    let output = run(&["hash", "42"], &[]);
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!((output.status.code(), said.lines().count()), (Some(78), 1), "{said}");
    assert!(said.contains("log.mid_key"), "{said}");
}

#[test]
fn a_hot_store_without_a_history_store_cannot_be_rebuilt() {
    let output = run(&["rebuild", "--dry-run"], &[]);
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(78), "{said}");
    assert!(said.contains("store.hot_store and history.store"), "{said}");
}
