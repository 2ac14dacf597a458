//! The number of store lookups for rewards, as the gateway counts them: hardly any.

use serde_json::json;
use siphasher::sip::SipHasher24;

use crate::support::{Beat, MID, TestClient, TestGateway, beat, per_content, per_user, post_beats, rules};

const FRAMES: u64 = 20;
const BEATS: u64 = 500;

/// Look-ups of users, and of claims in the store.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Asked {
    welcome: f64,
    beat: f64,
    store: f64,
}

async fn asked(gateway: &TestGateway) -> Asked {
    let lookups = |asker: &str| format!(r#"heartline_reward_lookups_total{{asker="{asker}"}}"#);
    Asked {
        welcome: gateway.metric(&lookups("welcome")).await,
        beat: gateway.metric(&lookups("beat")).await,
        store: gateway.metric("heartline_reward_store_reads_total").await,
    }
}

/// Views by playback ask the store, too.
const REWARDS_ONLY: (&str, &str) = ("views.by_playback", "[]");

/// One that has remembered what was claimed, and so is asked for nothing twice.
async fn gateway<const RULES: usize>(rules: [String; RULES], settings: &[(&str, &str)]) -> TestGateway {
    let settings = [&[("log.level", "debug"), REWARDS_ONLY], settings].concat();
    let gateway = TestGateway::rewarding_with(&rules, &settings);
    gateway.remembers().await;
    gateway
}

/// The same, and no other gateway can know more of a user: one of several asks the store at every welcome.
async fn alone<const RULES: usize>(given: [String; RULES]) -> TestGateway {
    let gateway = TestGateway::embedded(&[("log.level", "debug"), REWARDS_ONLY, ("rewards.rules", &rules(&given))]);
    gateway.remembers().await;
    gateway
}

/// Beats of as many contents as one frame may have.
fn many(at: u64) -> impl Iterator<Item = Beat> {
    (0..BEATS).map(move |oid| beat(oid, at))
}

async fn ten_thousand_beats(client: &mut TestClient, flag: Option<&str>) {
    let at = client.now() - 1_000;
    for frame in 0..FRAMES {
        client.play(flag, many(at + frame)).await;
    }
}

#[tokio::test]
async fn with_flags_10000_beats_need_no_lookup() {
    let gateway = gateway([per_user("first-of-day", "0s")], &[]).await;
    let mut client = gateway.connect(MID).await;
    client.play(None, [beat(1, client.now() - 2_000)]).await;
    let today = client.today();
    let mut second = gateway.connect(MID).await;
    let before = asked(&gateway).await;
    ten_thousand_beats(&mut client, Some(&today)).await;
    ten_thousand_beats(&mut second, Some(&today)).await;
    assert_eq!(asked(&gateway).await, before);
}

/// Of a user that the gateway does not remember: it believes the flag of the frame.
#[tokio::test]
async fn a_flag_in_the_frame_needs_no_lookup() {
    let gateway = gateway([per_user("first-of-day", "0s")], &[]).await;
    let mut client = gateway.connect(MID).await;
    let (today, before) = (client.today(), asked(&gateway).await);
    ten_thousand_beats(&mut client, Some(&today)).await;
    assert_eq!(asked(&gateway).await, before);
}

#[tokio::test]
async fn without_flags_a_user_is_looked_up_once_a_day_at_most() {
    let gateway = alone([per_user("first-of-day", "0s"), per_user("second", "0s")]).await;
    let users = 20;
    let before = asked(&gateway).await;
    for mid in 1..=users {
        for connection in 0..3 {
            let mut client = gateway.connect(mid).await;
            let at = client.now() - 1_000 + connection;
            client.play(None, [beat(BEATS, at)]).await;
            client.play(None, many(at)).await;
            client.play(Some("2000-01-01"), many(at + 10)).await;
        }
    }
    let after = asked(&gateway).await;
    let lookups = after.welcome + after.beat - before.welcome - before.beat;
    assert!(lookups <= users as f64, "{lookups} of {users} users");
    // Two claims of each, and what a new user is first read for.
    let reads = after.store - before.store;
    assert!(reads <= 3.0 * users as f64, "{reads} reads for {users} users");
}

#[tokio::test]
async fn an_undecided_user_without_flags_is_looked_up_once_a_day_at_most() {
    let gateway = alone([per_user("first-of-day", "1h")]).await;
    let mut client = gateway.connect(MID).await;
    ten_thousand_beats(&mut client, None).await;
    let mut second = gateway.connect(MID).await;
    ten_thousand_beats(&mut second, None).await;
    let asked = asked(&gateway).await;
    assert!(asked.welcome + asked.beat <= 1.0 && asked.store <= 1.0, "{asked:?}");
}

#[tokio::test]
async fn a_reconnect_of_a_recent_user_costs_no_lookup() {
    let gateway = alone([per_user("first-of-day", "0s")]).await;
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.play(None, [beat(1, at)]).await;
    gateway.connect(MID).await;
    let before = asked(&gateway).await;
    for later in 1..=50 {
        let mut client = gateway.connect(MID).await;
        assert!(client.welcome().get("flag").is_some());
        client.play(None, [beat(1, at + later)]).await;
    }
    assert_eq!(asked(&gateway).await, before);
}

#[tokio::test]
async fn a_reconnect_of_a_user_who_is_no_longer_recent_costs_one_lookup() {
    let gateway = gateway([per_user("first-of-day", "0s")], &[("rewards.recent_users", "1")]).await;
    let (one, other) = two_users_of_a_shard();
    for mid in [one, other] {
        let mut client = gateway.connect(mid).await;
        client.play(None, [beat(1, client.now())]).await;
    }
    let mut before = asked(&gateway).await;
    for mid in [one, other, one, other] {
        assert!(gateway.connect(mid).await.welcome().get("flag").is_some());
        let after = asked(&gateway).await;
        assert_eq!((after.welcome - before.welcome, after.beat - before.beat), (1.0, 0.0));
        before = after;
    }
}

#[tokio::test]
async fn the_store_is_not_asked_for_a_rewarded_user_who_is_no_longer_recent() {
    let gateway = gateway([per_user("first-of-day", "0s")], &[("rewards.recent_users", "1")]).await;
    let (one, other) = two_users_of_a_shard();
    let (_, now) = gateway.today_and_now().await;
    for mid in [one, other] {
        post_beats(&gateway.http(mid), None, [beat(1, now)]).await;
    }
    let before = asked(&gateway).await;
    for (step, mid) in (1..).zip([one, other, one, other]) {
        let answer = post_beats(&gateway.http(mid), None, [beat(1, now + step)]).await;
        assert!(answer.get("flag").is_some() && answer["rewards"] == json!([]), "{answer}");
    }
    let after = asked(&gateway).await;
    assert_eq!((after.beat - before.beat, after.store - before.store), (4.0, 0.0));
}

/// Two users of one shard, of which a shard with room for one recent user knows the last.
fn two_users_of_a_shard() -> (u64, u64) {
    let shard = |mid: u64| SipHasher24::new().hash(&mid.to_le_bytes()) % 1_000;
    let other = (1..).find(|other| shard(*other) == shard(MID) && *other != MID);
    (MID, other.expect("one in a thousand"))
}

#[tokio::test]
async fn each_connection_asks_once_for_a_content() {
    let gateway = gateway([per_content("first-view", "0s")], &[]).await;
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 10_000;
    client.play(None, [beat(100, at)]).await;
    let before = asked(&gateway).await;
    for step in 1..100 {
        client.play(None, [beat(100, at + step)]).await;
    }
    assert_eq!(asked(&gateway).await, before);
    let mut second = gateway.connect(MID).await;
    for step in 100..200 {
        second.play(None, [beat(100, at + step)]).await;
    }
    let after = asked(&gateway).await;
    assert!(after.store - before.store <= 2.0, "{after:?} after {before:?}");
    assert_eq!(after.beat, before.beat);
}

/// The store is not asked for what a filter remembers.
#[tokio::test]
async fn contents_that_a_filter_remembers_ask_no_store() {
    let rule = r#"{ id = "first-view", per = "content", kinds = [], watched = "0s", exact = false, expected = 1000000, probability = 0.01 }"#;
    let mut gateway = alone([rule.to_owned()]).await;
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 10_000;
    client.play(None, many(at)).await;
    client.play(None, many(at + 1)).await;
    let before = asked(&gateway).await;
    // More contents than a connection remembers.
    client.play(None, many(at + 2)).await;
    gateway.connect(MID).await.play(None, many(at + 3)).await;
    assert_eq!(asked(&gateway).await.store - before.store, 0.0);
    gateway.restart();
    let filled = "heartline_reward_filter_items{rule=\"first-view\"}";
    gateway.wait_for_metric(filled, |items| items > 0.9 * BEATS as f64).await;
    gateway.connect(MID).await.play(None, many(at + 4)).await;
    assert!(asked(&gateway).await.store <= 1.0, "filled at the start: {:?}", asked(&gateway).await);
}
