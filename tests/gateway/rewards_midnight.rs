//! The change of the reward day: once for all users, and never backwards.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::{MID, TestGateway, beat, per_content, per_user, rules};

const DAY: Duration = Duration::from_hours(24);

/// Moves the rewards' clock as the demo page does.
async fn forward(gateway: &TestGateway, by: Duration) {
    let by = json!({"forward": by.as_millis() as u64});
    gateway.anonymous_http().post("/demo/clock", &by).await.json();
}

fn next(day: &str) -> String {
    let day: jiff::civil::Date = day.parse().expect("a date");
    day.tomorrow().expect("another day").to_string()
}

#[tokio::test]
async fn the_flag_of_yesterday_counts_as_none() {
    let gateway = TestGateway::rewarding(&[per_user("first-of-day", "0s")]);
    let mut client = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let (today, at) = (client.today(), client.now() - 1_000);
    client.play(None, [beat(100, at)]).await;
    client.reward().await;
    other.pushed_flag().await;
    forward(&gateway, DAY).await;
    let tomorrow = next(&today);
    assert_eq!(gateway.connect(MID).await.welcome()["today"], json!(tomorrow));
    assert_eq!(gateway.connect(MID).await.welcome().get("flag"), None);
    assert!(gateway.rewards_today(MID).await.is_empty());
    let acked = client.play(Some(&today), [beat(100, at + 1)]).await;
    assert_eq!(acked.flag(), Some(tomorrow.as_str()));
    let id = format!("first-of-day:{tomorrow}:42");
    assert_eq!(client.reward().await, json!({"id": id, "rule": "first-of-day", "day": tomorrow}));
    assert_eq!(other.pushed_flag().await, json!(tomorrow));
    assert_eq!(gateway.connect(MID).await.welcome()["flag"], json!(tomorrow));
    assert_eq!(gateway.rewards_today(MID).await.keys().collect::<Vec<_>>(), [&id]);
    client.was_given_nothing().await;
    other.was_given_nothing().await;
    let days: Vec<Value> = gateway.events(2).await.iter().map(|event| event["data"]["day"].clone()).collect();
    assert_eq!(days, [json!(today), json!(tomorrow)]);
}

/// The frame carries the flag of the day before, not the one that the connection was told.
#[tokio::test]
async fn the_flag_known_to_a_connection_ends_with_the_day() {
    let gateway = TestGateway::rewarding(&[per_user("first-of-day", "0s"), per_content("first-view", "0s")]);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    for day in 0..4 {
        client.play(None, [beat(100, at + day)]).await;
        for _ in 0..2 {
            client.reward().await;
        }
        client.play(None, [beat(100, at + day).session(2)]).await;
        client.was_given_nothing().await;
        forward(&gateway, DAY).await;
    }
    assert_eq!((gateway.claims("first-of-day").await, gateway.claims("first-view").await), (4, 4));
}

#[tokio::test]
async fn no_ack_carries_a_flag_of_yesterday() {
    let gateway = TestGateway::rewarding(&[per_user("first-of-day", "500ms")]);
    let mut client = gateway.connect(MID).await;
    assert!(client.play_for(100, Duration::from_millis(600)).await.flag().is_some());
    client.reward().await;
    forward(&gateway, DAY).await;
    // What was watched yesterday is not watched today.
    let at = client.now();
    assert_eq!(client.play(None, [beat(100, at).watched(5_700)]).await.flag(), None);
    client.was_given_nothing().await;
    sleep(Duration::from_millis(600)).await;
    assert!(client.play(None, [beat(100, at + 600).watched(6_300)]).await.flag().is_some());
    client.reward().await;
}

#[tokio::test]
async fn a_day_does_not_come_back_with_a_restart() {
    let rule = [per_user("first-of-day", "0s")];
    let mut gateway = TestGateway::rewarding(&rule);
    let mut client = gateway.connect(MID).await;
    let (today, at) = (client.today(), client.now() - 1_000);
    forward(&gateway, DAY * 3).await;
    client.play(None, [beat(100, at)]).await;
    let later = client.reward().await["day"].as_str().expect("a day").to_owned();
    assert_eq!(later, next(&next(&next(&today))));
    // The machine's clock says today again.
    gateway.restart();
    let mut client = gateway.connect(MID).await;
    assert_eq!((&client.welcome()["today"], &client.welcome()["flag"]), (&json!(later), &json!(later)));
    client.play(None, [beat(100, at + 1)]).await;
    client.was_given_nothing().await;
    gateway.drain_and_restart().await;
    assert_eq!(gateway.connect(MID).await.welcome()["today"], json!(later));
    assert_eq!(gateway.event_ids(1).await.len(), 1);
}

#[tokio::test]
async fn a_day_does_not_come_back_with_a_zone_that_is_behind() {
    let rules = rules(&[per_user("first-of-day", "0s")]);
    let with = |zone| [("rewards.rules", rules.as_str()), ("rewards.zone", zone)];
    // 25 hours lie between the two.
    let mut gateway = TestGateway::with(&with("Pacific/Kiritimati"));
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.play(None, [beat(100, at)]).await;
    client.reward().await;
    gateway.restart_with(&with("Pacific/Niue"));
    let mut again = gateway.connect(MID).await;
    assert_eq!(again.today(), client.today());
    again.play(None, [beat(100, at + 1)]).await;
    again.was_given_nothing().await;
    assert_eq!(gateway.event_ids(1).await.len(), 1);
}

#[tokio::test]
async fn new_rules_begin_with_the_next_day() {
    let one = [per_user("first-of-day", "0s")];
    let mut gateway = TestGateway::rewarding(&one);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.play(None, [beat(100, at)]).await;
    client.reward().await;
    let [first] = one;
    let both = rules(&[first, per_user("second", "0s")]);
    gateway.restart_with(&[("rewards.rules", &both)]);
    let mut client = gateway.connect(MID).await;
    assert_eq!(client.welcome()["flag"], json!(client.today()), "all that is decided today is");
    client.play(None, [beat(100, at + 1)]).await;
    client.was_given_nothing().await;
    forward(&gateway, DAY).await;
    client.play(None, [beat(100, at + 2)]).await;
    let mut given = [client.reward().await["rule"].clone(), client.reward().await["rule"].clone()];
    given.sort_by_key(Value::to_string);
    assert_eq!(given, ["first-of-day", "second"]);
}

#[tokio::test]
async fn a_demo_clock_is_not_turned_back() {
    let gateway = TestGateway::rewarding(&[per_user("first-of-day", "0s")]);
    for bad in [json!({"forward": -1}), json!({"forward": "1"}), json!({}), json!(5)] {
        assert_eq!(gateway.anonymous_http().post("/demo/clock", &bad).await.status, 400, "{bad}");
    }
    let gateway = TestGateway::with(&[("demo.enabled", "false")]);
    assert_eq!(gateway.anonymous_http().post("/demo/clock", &json!({"forward": 1})).await.status, 404);
}
