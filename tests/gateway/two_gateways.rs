//! Two gateways on one Redis: a user who is on both sees what one gateway would show.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{MID, TestGateway, beat, beats, per_user, reasons, rules};

fn two(settings: &[(&str, &str)]) -> [TestGateway; 2] {
    let one = TestGateway::shared(settings);
    let other = one.neighbour();
    [one, other]
}

#[tokio::test]
#[ignore = "needs Redis: tests/run gateway-redis"]
async fn of_50_connections_over_both_one_is_rewarded() {
    let rules = rules(&[per_user("first-of-day", "0s")]);
    let gateways = two(&[("rewards.rules", &rules)]);
    let mut racers = Vec::new();
    for number in 0..50 {
        racers.push(gateways[number % 2].connect(MID).await);
    }
    let at = racers[0].now();
    let mut sent = Vec::new();
    for (number, racer) in racers.iter_mut().enumerate() {
        sent.push(racer.send(beats([beat(number as u64, at)])).await);
    }
    let mut rewards = Vec::new();
    for (racer, seq) in racers.iter_mut().zip(sent) {
        // By the ack or by a push, whichever gateway the claim was made by.
        if racer.acked(seq).await.flag().is_none() {
            racer.pushed_flag().await;
        }
    }
    for racer in &mut racers {
        racer.still_serves().await;
        rewards.extend(racer.kept("reward").into_iter().cloned());
    }
    assert_eq!(rewards.len(), 1, "{rewards:?}");
    let today = BTreeSet::from([rewards[0]["id"].as_str().expect("an id").to_owned()]);
    let (mut claims, is_one_store) = (0, gateways[0].service().is_some());
    for gateway in &gateways {
        assert_eq!(gateway.rewards_today(MID).await.into_keys().collect::<BTreeSet<_>>(), today);
        claims += gateway.claims("first-of-day").await;
    }
    // A history service counts for both.
    assert_eq!(claims, if is_one_store { 2 } else { 1 });
}

#[tokio::test]
#[ignore = "needs Redis: tests/run gateway-redis"]
async fn a_beat_acked_by_one_gateway_is_read_by_the_other() {
    let gateways = two(&[]);
    let mut clients = [gateways[0].connect(MID).await, gateways[1].connect(MID).await];
    let at = clients[0].now() - 1_000;
    for step in 0..100 {
        let (from, to) = (step as usize % 2, (step as usize + 1) % 2);
        clients[from].watch([beat(100, at + step).pos(step)]).await;
        assert_eq!(clients[to].position(100).await, Some(step));
    }
    assert_eq!(clients[1].listed(json!({})).await, [100]);
}

#[tokio::test]
#[ignore = "needs Redis: tests/run gateway-redis"]
async fn the_newest_beat_wins_whichever_gateway_it_comes_to() {
    let gateways = two(&[]);
    let mut clients = [gateways[0].connect(MID).await, gateways[1].connect(MID).await];
    let at = clients[0].now() - 1_000;
    clients[0].watch([beat(100, at + 10).session(7)]).await;
    // The same beat once more, an older one, and one that its session decides.
    clients[1].watch([beat(100, at + 10).session(7)]).await;
    assert_eq!(reasons(&clients[1].beats([beat(100, at + 9)]).await), [(0, "superseded")]);
    assert_eq!(reasons(&clients[1].beats([beat(100, at + 10).session(6)]).await), [(0, "superseded")]);
    clients[1].watch([beat(100, at + 10).session(8).pos(80)]).await;
    assert_eq!(clients[0].position(100).await, Some(80));
}

#[tokio::test]
#[ignore = "needs Redis: tests/run gateway-redis"]
async fn records_deleted_on_one_gateway_stay_deleted_on_the_other() {
    let gateways = two(&[]);
    let mut clients = [gateways[0].connect(MID).await, gateways[1].connect(MID).await];
    let at = clients[0].now() - 1_000;
    for client in &mut clients {
        client.watch([beat(100, at), beat(101, at)]).await;
    }
    clients[0].delete(100, at + 1).await;
    assert_eq!(clients[1].record(100).await, Value::Null);
    assert_eq!(reasons(&clients[1].beats([beat(100, at + 1)]).await), [(0, "superseded")]);
    clients[1].clear(at + 2).await;
    assert_eq!(reasons(&clients[0].beats([beat(101, at + 2)]).await), [(0, "superseded")]);
    clients[0].pause_recording(true, at + 3).await;
    assert_eq!(reasons(&clients[1].beats([beat(101, at + 4)]).await), [(0, "not_recording")]);
    clients[1].pause_recording(false, at + 5).await;
    clients[0].watch([beat(101, at + 6)]).await;
    assert_eq!(clients[1].listed(json!({})).await, [101]);
}

#[tokio::test]
#[ignore = "needs Redis: tests/run gateway-redis"]
async fn a_gateway_that_is_killed_leaves_everything_to_the_other() {
    let [mut one, other] = two(&[]);
    let mut client = one.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at).pos(12_345)]).await;
    one.kill();
    assert_eq!(other.connect(MID).await.position(100).await, Some(12_345));
}
