//! Beats of many users in one call.

use std::time::Duration;

use redis::{Client as RedisClient, cmd};
use tonic::Code;
use tonic_types::StatusExt;

use super::{BOTH, batch, beat, caller, client, get, now, of, put, served, service, wire};
use crate::support::{MID, TestGateway, beat as socket_beat, per_user, rules};

const OTHER: u64 = 7;

#[tokio::test]
async fn what_is_put_is_committed_and_read_by_every_interface() {
    let mut gateway = served(&[]);
    let mut client = caller(&gateway).await;
    let at = now(&mut client).await;
    let users = [
        wire::UserBeats { device: "tv".to_owned(), ..of(MID, [beat(1, at), beat(2, at + 1)]) },
        of(OTHER, [beat(1, at + 2)]),
    ];
    let answer = client.put(batch(users)).await.expect("an answer").into_inner();
    assert!(answer.now >= at && answer.today.len() == 10);
    let mids: Vec<u64> = answer.users.iter().map(|user| user.mid).collect();
    assert_eq!(mids, [MID, OTHER], "in the order asked");
    assert!(answer.users.iter().all(|user| user.rejected.is_empty() && !user.unavailable));

    gateway.restart();
    let mut client = caller(&gateway).await;
    let records = get(&mut client, MID, [2, 3, 1]).await;
    let stored = records[0].as_ref().expect("a record");
    assert_eq!((stored.at, stored.pos, stored.device.as_str(), stored.session), (at + 1, 10_000, "tv", 1));
    assert_eq!((stored.state(), stored.resume, stored.progress), (wire::State::Playing, 10_000, None));
    assert!(records[1].is_none() && records[2].is_some());
    let page = gateway.http(OTHER).get("/v1/history").await.json();
    assert_eq!((page["records"][0]["at"].as_u64(), page["records"].as_array().map(Vec::len)), (Some(at + 2), Some(1)));
    let mut socket = gateway.connect(MID).await;
    assert_eq!(socket.position(1).await, Some(10_000));
}

#[tokio::test]
async fn each_beat_is_judged_as_on_a_socket() {
    let gateway = served(&[]);
    let mut client = caller(&gateway).await;
    let at = now(&mut client).await;
    put(&mut client, MID, [beat(1, at), beat(9, at - 10)]).await;
    let items = [
        beat(1, at - 1),
        wire::Beat { rate: Some(f64::NAN), ..beat(2, at) },
        beat(3, at + 60_000),
        wire::Beat { state: Some(wire::State::Paused.into()), watched: Some(0), ..beat(4, at) },
        beat(5, 0),
        beat(6, at),
        // The same session goes on, and another one begins.
        beat(9, at),
        wire::Beat { session: Some(2), ..beat(1, at + 1) },
        // It plays, and says that nothing was played; and one that does not say.
        wire::Beat { watched: Some(0), ..beat(7, at) },
        wire::Beat { watched: None, ..beat(8, at) },
    ];
    let answer = client.put(batch([of(MID, items)])).await.expect("an answer").into_inner();
    let user = &answer.users[0];
    let rejected: Vec<_> = user.rejected.iter().map(|rejected| (rejected.index, rejected.reason())).collect();
    let expected = [
        (0, wire::Reason::Superseded),
        (1, wire::Reason::Invalid),
        (2, wire::Reason::Clock),
        (3, wire::Reason::NotStarted),
        (4, wire::Reason::Expired),
        (8, wire::Reason::NotStarted),
    ];
    assert_eq!(rejected, expected);
    let messages: Vec<_> = user.rejected.iter().map(|rejected| rejected.message.as_str()).collect();
    assert_eq!(messages, ["", "rate: must be from 0 to 16", "", "", "", ""]);
    assert_eq!(user.rejected[0].record.as_ref().map(|record| record.at), Some(at));
    assert_eq!(user.changed, [5, 7, 9], "new records, and a new session; not the beat that goes on");
    let again = client.put(batch([of(MID, [beat(6, at)])])).await.expect("an answer").into_inner();
    assert!(again.users[0].rejected.is_empty() && again.users[0].changed.is_empty(), "a repeat changes nothing");

    let mut writer = super::client(&gateway, Some(service("heartline.write").sign())).await;
    let answer = writer.put(batch([of(MID, [beat(1, at - 1)])])).await.expect("an answer").into_inner();
    let rejected = &answer.users[0].rejected[0];
    assert!(rejected.reason() == wire::Reason::Superseded && rejected.record.is_none(), "it may not read");
}

#[tokio::test]
async fn entries_of_one_user_are_answered_one_by_one() {
    let gateway = served(&[]);
    let mut client = caller(&gateway).await;
    let at = now(&mut client).await;
    let on = |device: &str, beat| wire::UserBeats { device: device.to_owned(), ..of(MID, [beat]) };
    let later = wire::Beat { session: Some(2), ..beat(1, at + 10) };
    let users = [on("tv", later), of(OTHER, []), on("phone", beat(1, at)), on("web", beat(2, at))];
    let answer = client.put(batch(users)).await.expect("an answer").into_inner();
    let mids: Vec<_> = answer.users.iter().map(|user| (user.mid, user.rejected.len())).collect();
    assert_eq!(mids, [(MID, 0), (OTHER, 0), (MID, 1), (MID, 0)]);
    let devices: Vec<_> = get(&mut client, MID, [1, 2]).await.into_iter().flatten().map(|it| it.device).collect();
    assert_eq!(devices, ["tv", "web"]);
}

#[tokio::test]
async fn a_full_batch_is_one_call() {
    let gateway = served(&[]);
    let mut client = caller(&gateway).await;
    let at = now(&mut client).await;
    let of_user = |mid| of(mid, (0..500).map(|oid| beat(oid, at + oid % 5)));
    let answer = client.put(batch((1..=10).map(of_user))).await.expect("an answer").into_inner();
    assert!(answer.users.iter().all(|user| user.rejected.is_empty() && user.changed.len() == 500));
    assert_eq!(get(&mut client, 10, 0..500).await.into_iter().flatten().count(), 500);
}

#[tokio::test]
async fn sockets_are_told_unless_they_are_the_origin() {
    let gateway = served(&[]);
    let (mut client, mut player, mut other) =
        (caller(&gateway).await, gateway.connect(MID).await, gateway.connect(MID).await);
    let at = player.now();
    let origin = player.welcome()["connection"].as_str().expect("an id").to_owned();
    let users = [wire::UserBeats { connection: origin, ..of(MID, [beat(1, at)]) }];
    client.put(batch(users)).await.expect("an answer");
    let told = other.wait_for("a push", |frame| frame["push"]["record"].is_object()).await;
    assert_eq!(told["push"]["record"]["oid"], "1");
    put(&mut client, MID, [beat(2, at)]).await;
    let told = player.wait_for("a push", |frame| frame["push"]["record"].is_object()).await;
    assert_eq!(told["push"]["record"]["oid"], "2", "not the one that came in its name");
}

#[tokio::test]
async fn rewards_are_told_to_the_caller_and_the_flag_to_sockets() {
    let rule = rules([&per_user("first-of-day", "5s")]);
    let gateway = served(&[("rewards.rules", &rule)]);
    let (mut client, mut socket) = (caller(&gateway).await, gateway.connect(MID).await);
    let at = now(&mut client).await;
    let first = put(&mut client, MID, [beat(1, at - 5_500)]).await;
    assert!(first.rewards.is_empty() && first.flag.is_empty());
    tokio::time::sleep(Duration::from_millis(5_200)).await;
    let watched = wire::Beat { watched: Some(11_000), ..beat(1, at + 100) };
    let second = put(&mut client, MID, [watched]).await;
    let told: Vec<_> = second.rewards.iter().map(|reward| (reward.rule.as_str(), reward.content.clone())).collect();
    assert_eq!(told, [("first-of-day", None)]);
    let id = format!("first-of-day:{}:{MID}", second.flag);
    assert_eq!(second.rewards[0].id, id);
    assert_eq!(socket.pushed_flag().await, second.flag.as_str());

    let request = wire::RewardsRequest { mid: Some(MID), sub: String::new() };
    let today = client.rewards(request).await.expect("an answer").into_inner();
    assert_eq!((today.day, today.rewards.len()), (second.flag.clone(), 1));
    let open = wire::OpenRequest { mid: Some(MID), sub: String::new() };
    let open = client.open(open).await.expect("an answer").into_inner();
    assert_eq!((open.mid, open.flag, open.paused), (MID, second.flag.clone(), false));
    let asked = client.put(batch([of(MID, [])])).await.expect("an answer").into_inner();
    assert_eq!(asked.users[0].flag, second.flag, "an entry without beats asks for the flag");
}

#[tokio::test]
async fn a_message_that_makes_no_sense_changes_nothing() {
    let gateway = served(&[]);
    let mut client = caller(&gateway).await;
    let at = now(&mut client).await;
    let bad = wire::Beat { pos: None, ..beat(2, at) };
    let refused = client.put(batch([of(MID, [beat(1, at)]), of(OTHER, [bad])])).await.expect_err("a refusal");
    assert_eq!((refused.code(), refused.message()), (Code::InvalidArgument, "users[1].items[0].pos: is missing"));
    assert_eq!(get(&mut client, MID, [1]).await, [None]);
    let many = (0..501).map(|oid| beat(oid, at));
    let refused = client.put(batch([of(MID, many)])).await.expect_err("a refusal");
    assert!(refused.code() == Code::InvalidArgument && refused.message().starts_with("users[0].items: "));
    assert!(client.put(batch([])).await.expect("nothing to do").into_inner().users.is_empty());
}

/// Redis answers reads, and takes no writes for so long.
fn pause_writes(gateway: &TestGateway, milliseconds: u64) {
    let mut connection = RedisClient::open(gateway.redis_url()).expect("an address").get_connection().expect("Redis");
    cmd("CLIENT").arg("PAUSE").arg(milliseconds).arg("WRITE").exec(&mut connection).expect("a pause");
}

#[tokio::test]
#[ignore = "needs Redis: tests/run gateway-redis"]
async fn a_store_that_stalls_leaves_the_outcome_unknown_and_the_deadline_kept() {
    let gateway = TestGateway::on_redis(&[("grpc.listen", "127.0.0.1:0"), ("grpc.deadline", "600ms")]);
    let mut client = client(&gateway, Some(service(BOTH).sign())).await;
    let at = now(&mut client).await;
    put(&mut client, MID, [beat(1, at)]).await;
    pause_writes(&gateway, 3_000);
    let began = std::time::Instant::now();
    let unknown = client.put(batch([of(MID, [beat(1, at + 1)])])).await.expect_err("no answer");
    assert!((500..1_500).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    assert_eq!(unknown.code(), Code::Unavailable, "{unknown:?}");
    assert!(unknown.get_details_retry_info().is_some());
    // What does not wait for the store is known all the same.
    let mixed = batch([of(MID, [beat(1, at + 2)]), of(OTHER, [beat(1, at + 60_000)])]);
    let answer = client.put(mixed).await.expect("an answer").into_inner();
    let told: Vec<_> = answer.users.iter().map(|user| (user.unavailable, user.rejected.len())).collect();
    assert_eq!(told, [(true, 0), (false, 1)]);
    tokio::time::sleep(Duration::from_secs(3)).await;
    let again = put(&mut client, MID, [beat(1, at + 2)]).await;
    assert!(!again.unavailable);
    assert_eq!(get(&mut client, MID, [1]).await[0].as_ref().map(|record| record.at), Some(at + 2));
    let mut socket = gateway.connect(MID).await;
    let now = socket.now();
    socket.watch([socket_beat(1, now)]).await;
}
