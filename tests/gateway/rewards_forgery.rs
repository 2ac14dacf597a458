//! A forged flag earns nothing.

use serde_json::json;

use crate::support::{MID, TestGateway, beat, per_content, per_user, post_beats};

fn gateway() -> TestGateway {
    TestGateway::rewarding(&[per_user("first-of-day", "0s")])
}

#[tokio::test]
async fn a_forged_flag_of_today_earns_nothing_on_its_frame() {
    let gateway = gateway();
    let mut forger = gateway.connect(MID).await;
    let mut other = gateway.connect(MID).await;
    let (today, at) = (forger.today(), forger.now() - 1_000);
    for step in 0..3 {
        let acked = forger.play(Some(&today), [beat(100, at + step)]).await;
        assert_eq!(acked.flag(), None, "the gateway does not repeat what it was told");
    }
    forger.was_given_nothing().await;
    other.was_given_nothing().await;
    assert_eq!(gateway.connect(MID).await.welcome().get("flag"), None);
    assert_eq!(gateway.claims("first-of-day").await, 0);
    // What was claimed for the frame is forgotten with it.
    let acked = forger.play(None, [beat(100, at + 10)]).await;
    assert_eq!(acked.flag(), Some(today.as_str()));
    assert_eq!(forger.reward().await["rule"], "first-of-day");
    assert_eq!(gateway.events(1).await.len(), 1);
}

#[tokio::test]
async fn a_forged_flag_of_today_over_http_earns_nothing() {
    let gateway = gateway();
    let http = gateway.http(MID);
    let (today, now) = gateway.today_and_now().await;
    let answer = post_beats(&http, Some(&today), [beat(100, now - 10)]).await;
    assert_eq!((answer.get("flag"), &answer["rewards"]), (None, &json!([])));
    assert_eq!(gateway.claims("first-of-day").await, 0);
    let answer = post_beats(&http, None, [beat(100, now)]).await;
    assert_eq!((&answer["flag"], answer["rewards"][0]["rule"].as_str()), (&json!(today), Some("first-of-day")));
}

#[tokio::test]
async fn a_flag_of_another_day_counts_as_none() {
    let gateway = gateway();
    let (today, _) = gateway.today_and_now().await;
    let year: u32 = today[..4].parse().expect("a year");
    let (future, past) = (format!("{}{}", year + 1, &today[4..]), format!("{}{}", year - 1, &today[4..]));
    let flags = ["9999-12-31", &future, &past, "2000-01-01"];
    for (mid, flag) in (1..).zip(flags) {
        let mut client = gateway.connect(mid).await;
        let acked = client.play(Some(flag), [beat(100, client.now())]).await;
        assert_eq!(acked.flag(), Some(today.as_str()), "{flag}");
        client.reward().await;
        // Nor does it take anything away again.
        let acked = client.play(Some(flag), [beat(100, client.now())]).await;
        assert_eq!(acked.flag(), Some(today.as_str()), "{flag}");
        client.was_given_nothing().await;
    }
    assert_eq!(gateway.claims("first-of-day").await, flags.len() as u64);
}

#[tokio::test]
async fn a_malformed_flag_counts_as_none() {
    let gateway = gateway();
    let (today, _) = gateway.today_and_now().await;
    let flags = ["", "today", "2026-13-45", "0000-00-00", &today[..9], &format!("{today} "), &format!("+{today}")];
    for (mid, flag) in (1..).zip(flags) {
        let mut client = gateway.connect(mid).await;
        let acked = client.play(Some(flag), [beat(100, client.now())]).await;
        assert_eq!(acked.flag(), Some(today.as_str()), "{flag}");
        client.reward().await;
        let answer = post_beats(&gateway.http(1_000 + mid), Some(flag), [beat(100, client.now())]).await;
        assert_eq!((&answer["flag"], answer["rewards"].as_array().map(Vec::len)), (&json!(today), Some(1)), "{flag}");
    }
}

#[tokio::test]
async fn a_flag_prevents_no_rewards_of_contents() {
    let gateway = TestGateway::rewarding(&[per_user("first-of-day", "0s"), per_content("first-view", "0s")]);
    let mut client = gateway.connect(MID).await;
    let (today, at) = (client.today(), client.now() - 1_000);
    assert_eq!(client.play(Some(&today), [beat(100, at)]).await.flag(), None);
    assert_eq!(client.reward().await["rule"], "first-view");
    assert_eq!(client.play(None, [beat(100, at + 1)]).await.flag(), Some(today.as_str()));
    assert_eq!(client.reward().await["rule"], "first-of-day");
    client.play(Some(&today), [beat(200, at)]).await;
    assert_eq!(client.reward().await["oid"], "200");
    client.was_given_nothing().await;
}
