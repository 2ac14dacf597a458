//! Which beats count as watch time for rewards, and which do not.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::sleep;

use crate::support::{MID, TestClient, TestGateway, beat, per_user, post_beats, reasons};

/// What must be watched.
const WATCHED: Duration = Duration::from_millis(600);
/// Rather more than half of it.
const HALF: Duration = Duration::from_millis(400);
/// More than all of it.
const ENOUGH: Duration = Duration::from_millis(700);
/// A busy machine may be too slow to do anything in a moment.
const ATTEMPTS: usize = 10;

fn gateway() -> TestGateway {
    TestGateway::rewarding(&[per_user("first-of-day", "600ms")])
}

fn at_once() -> TestGateway {
    TestGateway::rewarding(&[per_user("first-of-day", "0s")])
}

fn ms(duration: Duration) -> u64 {
    duration.as_millis() as u64
}

async fn earned_nothing(gateway: &TestGateway, client: &mut TestClient) {
    client.was_given_nothing().await;
    assert_eq!(gateway.claims("first-of-day").await, 0);
    assert!(gateway.rewards_today(MID).await.is_empty());
}

/// So that a test of what earns nothing would notice if nothing ever did.
async fn earns_at_last(gateway: &TestGateway, client: &mut TestClient) {
    assert!(client.play_for(900, ENOUGH).await.flag().is_some());
    client.reward().await;
    let events = gateway.events(1).await;
    assert_eq!((events.len(), events[0]["data"]["oid"].as_str()), (1, Some("900")));
}

#[tokio::test]
async fn a_user_who_watches_long_enough_is_rewarded() {
    let gateway = gateway();
    let mut client = gateway.connect(MID).await;
    earns_at_last(&gateway, &mut client).await;
}

#[tokio::test]
async fn seeking_through_a_video_in_a_moment_earns_nothing() {
    const TO_WATCH: Duration = Duration::from_secs(3);
    let mut took = Vec::new();
    while took.len() < ATTEMPTS {
        let gateway = TestGateway::rewarding(&[per_user("first-of-day", "3s")]);
        let mut client = gateway.connect(MID).await;
        let (began, at) = (Instant::now(), client.now() - 60_000);
        for minute in 0..10 {
            let watched = minute * 60_000;
            client.play(None, [beat(100, at + minute * 5_000).pos(watched).watched(1 + watched)]).await;
        }
        took.push(began.elapsed());
        if began.elapsed() >= TO_WATCH {
            continue;
        }
        earned_nothing(&gateway, &mut client).await;
        // Time has its say, and then the rest is enough.
        sleep(TO_WATCH).await;
        client.play(None, [beat(100, client.now()).watched(600_000)]).await;
        client.reward().await;
        return;
    }
    panic!("this machine takes longer for it than must be watched: {took:?}");
}

#[tokio::test]
async fn time_that_only_passes_earns_nothing() {
    let gateway = gateway();
    let mut client = gateway.connect(MID).await;
    client.play(None, [beat(100, client.now())]).await;
    sleep(ENOUGH).await;
    client.play(None, [beat(100, client.now()).watched(5_010)]).await;
    client.play(None, [beat(100, client.now() + 1).watched(5_010).state("paused")]).await;
    earned_nothing(&gateway, &mut client).await;
    earns_at_last(&gateway, &mut client).await;
}

#[tokio::test]
async fn watch_time_before_the_first_beat_of_a_session_does_not_count() {
    let gateway = gateway();
    let mut client = gateway.connect(MID).await;
    client.play(None, [beat(100, client.now()).watched(3_600_000)]).await;
    client.play(None, [beat(100, client.now() + 1).watched(3_600_100)]).await;
    earned_nothing(&gateway, &mut client).await;
}

#[tokio::test]
async fn an_offline_batch_of_yesterday_earns_nothing() {
    let gateway = at_once();
    let mut client = gateway.connect(MID).await;
    let yesterday = client.now() - 86_400_000;
    for step in 0..20 {
        client.play(None, [beat(100, yesterday + step * 5_000).watched(1 + step * 5_000)]).await;
    }
    let batch =
        |first| (0..200).map(move |step| beat(first + step % 7, yesterday + step * 5_000).watched(1 + step * 5_000));
    client.play(None, batch(200)).await;
    post_beats(&gateway.http(MID), None, batch(300)).await;
    earned_nothing(&gateway, &mut client).await;
    earns_at_last(&gateway, &mut client).await;
}

#[tokio::test]
async fn a_beat_of_more_than_60_s_ago_earns_nothing() {
    let gateway = at_once();
    let mut client = gateway.connect(MID).await;
    client.play(None, [beat(100, client.now() - 60_100)]).await;
    earned_nothing(&gateway, &mut client).await;
    client.play(None, [beat(200, client.now() - 50_000)]).await;
    client.reward().await;
}

#[tokio::test]
async fn a_clear_and_another_watch_earn_no_second_reward() {
    let gateway = at_once();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.play(None, [beat(100, at)]).await;
    client.reward().await;
    client.clear(at + 1).await;
    client.play(None, [beat(100, at + 2).session(2)]).await;
    client.delete(100, at + 3).await;
    client.play(None, [beat(100, at + 4).session(3)]).await;
    let mut other = gateway.connect(MID).await;
    other.play(None, [beat(100, at + 5).session(4)]).await;
    client.was_given_nothing().await;
    other.was_given_nothing().await;
    assert_eq!(gateway.rewards_today(MID).await.len(), 1, "what was given is not taken back either");
    assert_eq!((gateway.claims("first-of-day").await, gateway.events(1).await.len()), (1, 1));
}

#[tokio::test]
async fn a_clear_and_a_restart_earn_no_second_reward() {
    let mut gateway = at_once();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.play(None, [beat(100, at)]).await;
    client.clear(at + 1).await;
    gateway.restart();
    let mut client = gateway.connect(MID).await;
    client.play(None, [beat(100, at + 2).session(2)]).await;
    client.was_given_nothing().await;
    // A history service was not restarted.
    let before = u64::from(gateway.service().is_some());
    assert_eq!((gateway.claims("first-of-day").await, gateway.event_ids(1).await.len()), (before, 1));
}

#[tokio::test]
async fn beats_refused_while_recording_is_paused_earn_nothing() {
    let gateway = at_once();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 2_000;
    client.pause_recording(true, at).await;
    let refused = client.beats([beat(100, at + 10), beat(200, at + 20)]).await;
    assert_eq!(reasons(&refused), [(0, "not_recording"), (1, "not_recording")]);
    client.pause_recording(false, at + 30).await;
    let refused = client.beats([beat(300, at + 25)]).await;
    assert_eq!(reasons(&refused), [(0, "not_recording")], "late, and yet of the pause");
    earned_nothing(&gateway, &mut client).await;
    client.play(None, [beat(100, at + 31)]).await;
    client.reward().await;
}

#[tokio::test]
async fn watch_time_during_a_pause_of_recording_is_not_counted_later() {
    let gateway = gateway();
    let mut client = gateway.connect(MID).await;
    let began = client.now();
    client.play(None, [beat(100, began)]).await;
    client.pause_recording(true, began + 1).await;
    sleep(ENOUGH).await;
    let ended = client.now();
    client.pause_recording(false, ended).await;
    // The player has played on, and its session counts what it played.
    let watched = 5_000 + (ended - began);
    client.play(None, [beat(100, ended + 1).watched(watched)]).await;
    earned_nothing(&gateway, &mut client).await;
    sleep(ENOUGH).await;
    client.play(None, [beat(100, ended + 700).watched(watched + 700)]).await;
    client.reward().await;
}

#[tokio::test]
async fn a_failed_start_earns_nothing() {
    let gateway = at_once();
    let mut client = gateway.connect(MID).await;
    let refused = client.beats([beat(100, client.now()).state("paused").watched(0)]).await;
    assert_eq!(reasons(&refused), [(0, "not_started")]);
    earned_nothing(&gateway, &mut client).await;
}

#[tokio::test]
async fn a_beat_that_changes_nothing_earns_nothing() {
    let gateway = gateway();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.play(None, [beat(100, at)]).await;
    sleep(ENOUGH).await;
    // The same beat, whatever else it says; and one that is older than what is stored.
    client.play(None, [beat(100, at).watched(60_000)]).await;
    let refused = client.beats([beat(100, at - 1).watched(60_000)]).await;
    assert_eq!(reasons(&refused), [(0, "superseded")]);
    earned_nothing(&gateway, &mut client).await;
}

#[tokio::test]
async fn a_second_session_begins_anew() {
    let gateway = gateway();
    let mut client = gateway.connect(MID).await;
    assert_eq!(client.play_for(100, HALF).await.flag(), None);
    let at = client.now();
    client.play(None, [beat(100, at).session(2)]).await;
    sleep(HALF).await;
    client.play(None, [beat(100, at + ms(HALF)).session(2).watched(5_000 + ms(HALF))]).await;
    earned_nothing(&gateway, &mut client).await;
    sleep(ENOUGH - HALF).await;
    client.play(None, [beat(100, at + ms(ENOUGH)).session(2).watched(5_000 + ms(ENOUGH))]).await;
    client.reward().await;
}

#[tokio::test]
async fn two_devices_that_play_one_content_reset_each_other() {
    let gateway = gateway();
    let (mut one, mut two) = (gateway.connect(MID).await, gateway.connect(MID).await);
    let at = one.now();
    for step in 0..6 {
        let played = step * 200;
        one.play(None, [beat(100, at + played).session(1).watched(5_000 + played)]).await;
        two.play(None, [beat(100, at + played + 1).session(2).watched(5_000 + played)]).await;
        sleep(Duration::from_millis(200)).await;
    }
    one.was_given_nothing().await;
    earned_nothing(&gateway, &mut two).await;
}

#[tokio::test]
async fn watch_time_of_two_contents_does_not_add_up() {
    let gateway = gateway();
    let mut client = gateway.connect(MID).await;
    client.play_for(100, HALF).await;
    client.play_for(200, HALF).await;
    earned_nothing(&gateway, &mut client).await;
    assert!(HALF * 2 > WATCHED);
}

#[tokio::test]
async fn watch_time_adds_up_across_connections_and_restarts() {
    let mut gateway = gateway();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.play(None, [beat(100, at)]).await;
    gateway.restart();
    sleep(ENOUGH).await;
    let mut client = gateway.connect(MID).await;
    client.play(None, [beat(100, at + ms(ENOUGH)).watched(5_000 + ms(ENOUGH))]).await;
    client.reward().await;
}

#[tokio::test]
async fn a_minimum_of_0_s_rewards_the_first_beat() {
    let gateway = at_once();
    let mut client = gateway.connect(MID).await;
    assert!(client.play(None, [beat(100, client.now()).watched(1)]).await.flag().is_some());
    assert_eq!(client.reward().await["rule"], "first-of-day");
}

#[tokio::test]
async fn only_the_kinds_of_a_rule_count() {
    let rule = r#"{ id = "live", per = "user", kinds = [2, 7], watched = "0s", exact = true }"#.to_owned();
    let gateway = TestGateway::rewarding(&[rule]);
    let mut client = gateway.connect(MID).await;
    assert_eq!(client.play(None, [beat(100, client.now())]).await.flag(), None);
    assert_eq!(client.play(None, [beat(100, client.now()).kind(3)]).await.flag(), None);
    client.was_given_nothing().await;
    assert!(client.play(None, [beat(100, client.now()).kind(7)]).await.flag().is_some());
    assert_eq!(client.reward().await["rule"], "live");
    assert_eq!(gateway.events(1).await[0]["data"]["kind"], json!(7));
}
