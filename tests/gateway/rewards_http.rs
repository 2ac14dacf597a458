//! Rewards over HTTP: in the answer to beats, and in the list of today for a client that missed it.

use serde_json::json;

use crate::support::{MID, TestGateway, beat, beats, items, per_content, per_user, post_beats, until};

fn gateway() -> TestGateway {
    TestGateway::rewarding(&[per_user("first-of-day", "0s"), per_content("first-view", "0s")])
}

#[tokio::test]
async fn the_answer_to_beats_tells_rewards_and_flag() {
    let gateway = gateway();
    let http = gateway.http(MID);
    let (today, now) = gateway.today_and_now().await;
    let before = http.post("/v1/beats", &items([])).await.json();
    assert_eq!((before.get("flag"), &before["rewards"]), (None, &json!([])));
    let answer = post_beats(&http, None, [beat(100, now)]).await;
    assert_eq!((&answer["flag"], &answer["today"]), (&json!(today), &json!(today)));
    let mut rewards = answer["rewards"].as_array().expect("rewards").clone();
    rewards.sort_by_key(|reward| reward["id"].to_string());
    let of_user = format!("first-of-day:{today}:42");
    let of_content = format!("first-view:{today}:42:1:100");
    let expected = [
        json!({"id": of_user, "rule": "first-of-day", "day": today}),
        json!({"id": of_content, "rule": "first-view", "day": today, "kind": 1, "oid": "100"}),
    ];
    assert_eq!(rewards, expected);
    let again = post_beats(&http, Some(&today), [beat(100, now + 1)]).await;
    assert_eq!((&again["flag"], &again["rewards"]), (&json!(today), &json!([])));
}

#[tokio::test]
async fn the_answer_has_the_flag_as_soon_as_the_gateway_is_back() {
    let mut gateway = gateway();
    let (today, now) = gateway.today_and_now().await;
    post_beats(&gateway.http(MID), None, [beat(100, now)]).await;
    gateway.kill();
    gateway.restart();
    let answer = gateway.http(MID).post("/v1/beats", &items([])).await.json();
    assert_eq!(answer["flag"], json!(today));
}

#[tokio::test]
async fn today_lists_what_was_given_today() {
    let gateway = gateway();
    let http = gateway.http(MID);
    let empty = http.get("/v1/rewards/today").await.json();
    let (today, now) = gateway.today_and_now().await;
    assert_eq!(empty, json!({"day": today, "rewards": []}));
    let answer = post_beats(&http, None, [beat(100, now), beat(200, now)]).await;
    let told = answer["rewards"].as_array().expect("rewards");
    let listed = gateway.rewards_today(MID).await;
    assert_eq!((told.len(), listed.len()), (3, 3));
    for reward in told {
        assert_eq!(&listed[reward["id"].as_str().expect("an id")], reward);
    }
    assert!(gateway.rewards_today(43).await.is_empty(), "those of another user are not there");
}

#[tokio::test]
async fn a_reward_lost_with_its_socket_is_listed() {
    let mut gateway = gateway();
    let (_, now) = gateway.today_and_now().await;
    let mut socket = gateway.raw(MID).await;
    let mut frame = beats([beat(100, now)]);
    frame["seq"] = json!(1);
    socket.text(&frame.to_string()).await;
    drop(socket);
    until("both rewards", async || gateway.rewards_today(MID).await.len() >= 2).await;
    let listed = gateway.rewards_today(MID).await;
    gateway.restart();
    assert_eq!(gateway.rewards_today(MID).await, listed, "also after SIGKILL");
    gateway.drain_and_restart().await;
    assert_eq!(gateway.rewards_today(MID).await, listed, "and after a drain");
}

#[tokio::test]
async fn rewards_of_today_need_the_token_of_the_user_and_a_get() {
    let gateway = gateway();
    let path = "/v1/rewards/today";
    gateway.anonymous_http().get(path).await.problem(401, "unauthorized");
    gateway.http(MID).post(path, &json!({})).await.problem(405, "method");
    assert_eq!(gateway.control().get(path).await.status, 404);
}
