//! Users who are named by texts.

use serde_json::json;
use tonic::Code;

use super::{Client, LISTENS, batch, beat, caller, contents, now, wire};
use crate::support::{TestClient, TestGateway, Token, per_user, rules};

const NAMES: (&str, &str) = ("auth.subjects", "any");
const ANN: &str = "auth0|6405 ånn";

fn of(sub: &str, items: impl IntoIterator<Item = wire::Beat>) -> wire::UserBeats {
    wire::UserBeats { sub: sub.to_owned(), items: items.into_iter().collect(), ..wire::UserBeats::default() }
}

async fn socket(gateway: &TestGateway, name: &str) -> TestClient {
    gateway.upgrade().bearer(&Token::of(0).claim("sub", name).sign()).welcomed().await
}

async fn put(client: &mut Client, users: impl IntoIterator<Item = wire::UserBeats>) -> Vec<wire::UserAnswer> {
    client.put(batch(users)).await.expect("an answer").into_inner().users
}

async fn get(client: &mut Client, mid: Option<u64>, sub: &str) -> Option<wire::Record> {
    let request = wire::GetRequest { mid, sub: sub.to_owned(), items: contents([1]) };
    let mut answer = client.get(request).await.expect("an answer").into_inner();
    answer.records.remove(0).record
}

async fn subs(client: &mut Client) -> Vec<wire::User> {
    client.users(wire::UsersRequest::default()).await.expect("an answer").into_inner().users
}

#[tokio::test]
async fn each_call_takes_a_name_and_the_answer_has_it() {
    let rules = rules(&[per_user("first", "0s")]);
    let mut gateway = TestGateway::with(&[LISTENS, NAMES, ("rewards.rules", &rules)]);
    let mut client = caller(&gateway).await;
    let sub = || ANN.to_owned();
    let opened = client.open(wire::OpenRequest { mid: None, sub: sub() }).await.expect("an answer").into_inner();
    assert_eq!((opened.mid, opened.sub.as_str()), (1, ANN), "a number for a name, as a welcome gives one");
    let at = opened.now;
    let answers = put(&mut client, [of(ANN, [beat(1, at), beat(2, at)]), of("42", [beat(1, at)])]).await;
    let told: Vec<_> = answers.iter().map(|answer| (answer.mid, answer.sub.as_str(), answer.rejected.len())).collect();
    assert_eq!(told, [(1, ANN, 0), (2, "42", 0)]);
    let id = format!("first:{}:auth0%7C6405%20%C3%A5nn", opened.today);
    assert_eq!(answers[0].rewards[0].id, id);
    let rewards = client.rewards(wire::RewardsRequest { mid: None, sub: sub() }).await.expect("an answer").into_inner();
    assert_eq!(rewards.rewards[0].id, id);

    gateway.restart();
    let mut client = caller(&gateway).await;
    for (mid, name) in [(None, ANN), (Some(1), "")] {
        assert_eq!(get(&mut client, mid, name).await.map(|record| record.at), Some(at));
    }
    let list = wire::ListRequest { sub: sub(), by_content: true, ..wire::ListRequest::default() };
    assert_eq!(client.list(list).await.expect("a page").into_inner().records.len(), 2);
    assert_eq!(socket(&gateway, ANN).await.position(1).await, Some(10_000), "the socket's user is the same");
    let known: Vec<_> = subs(&mut client).await.into_iter().map(|user| (user.mid, user.sub)).collect();
    assert_eq!(known, [(1, sub()), (2, "42".to_owned())]);

    let switch = wire::SetRecordingRequest { sub: sub(), paused: Some(true), ..wire::SetRecordingRequest::default() };
    assert!(client.set_recording(switch).await.expect("an answer").into_inner().paused);
    let asked = wire::GetRecordingRequest { mid: None, sub: sub() };
    assert!(client.get_recording(asked).await.expect("an answer").into_inner().paused);
    let delete = wire::DeleteRequest { sub: sub(), items: contents([1]), ..wire::DeleteRequest::default() };
    client.delete(delete).await.expect("deleted");
    assert!(get(&mut client, None, ANN).await.is_none() && get(&mut client, None, "42").await.is_some());
    client.clear(wire::ClearRequest { sub: "42".to_owned(), ..wire::ClearRequest::default() }).await.expect("cleared");
    assert!(get(&mut client, None, "42").await.is_none());
}

#[tokio::test]
async fn a_read_gives_no_number_and_what_names_no_user_is_refused() {
    let gateway = TestGateway::with(&[LISTENS, NAMES]);
    let mut client = caller(&gateway).await;
    assert!(get(&mut client, None, "ann").await.is_none());
    assert!(get(&mut client, Some(7), "").await.is_none());
    assert!(subs(&mut client).await.is_empty());
    let at = now_of(&mut client).await;
    let unknown = wire::UserBeats { mid: Some(7), items: vec![beat(1, at)], ..wire::UserBeats::default() };
    let both = wire::UserBeats { mid: Some(1), ..of("ann", [beat(1, at)]) };
    for (wrong, said) in [
        (vec![of("ann", [beat(1, at)]), unknown], "users[1].mid: is not the number of a user"),
        (vec![both], "users[0].sub: must not be given beside mid"),
        (vec![of("", [beat(1, at)])], "users[0].mid: is missing"),
        (vec![of("a\nb", [beat(1, at)])], "users[0].sub: must not contain control characters"),
        (vec![of(&"n".repeat(257), [beat(1, at)])], "users[0].sub: must be from 1 to 256 bytes long"),
    ] {
        let refused = client.put(batch(wrong)).await.expect_err(said);
        assert_eq!((refused.code(), refused.message()), (Code::InvalidArgument, said));
    }
    let clear = wire::ClearRequest { mid: Some(7), ..wire::ClearRequest::default() };
    let refused = client.clear(clear).await.expect_err("a number that no name has");
    assert_eq!(refused.message(), "mid: is not the number of a user");
    // With numbers, a name is refused.
    let numbers = TestGateway::with(&[LISTENS]);
    let mut client = caller(&numbers).await;
    let at = now(&mut client).await;
    let refused = client.put(batch([of("ann", [beat(1, at)])])).await.expect_err("a name");
    assert_eq!(refused.message(), "users[0].sub: users are named by mid here (auth.subjects)");
}

/// The clock, without naming a user.
async fn now_of(client: &mut Client) -> u64 {
    client.put(batch([])).await.expect("an answer").into_inner().now
}

#[tokio::test]
async fn many_new_names_in_one_call_are_as_many_users() {
    let gateway = TestGateway::with(&[LISTENS, NAMES]);
    let mut client = caller(&gateway).await;
    let at = now_of(&mut client).await;
    let names: Vec<_> = (0..2_000).map(|index| format!("user {index}")).collect();
    for _ in 0..2 {
        // Each user twice, as with two devices.
        let entries = names.iter().chain(&names).map(|name| of(name, [beat(1, at)]));
        let answers = put(&mut client, entries).await;
        let of_names = names.iter().chain(&names).zip(&answers);
        assert!(of_names.into_iter().all(|(name, answer)| answer.sub == *name && answer.rejected.is_empty()));
        let mut mids: Vec<_> = answers.iter().map(|answer| answer.mid).collect();
        assert_eq!(mids[..names.len()], mids[names.len()..]);
        mids.sort_unstable();
        mids.dedup();
        assert_eq!(mids.len(), names.len());
    }
    assert_eq!(subs(&mut client).await.len(), 1_000, "a page of them");
}

/// A back-end's late beats of an erased user stay out, and so does the name.
#[tokio::test]
async fn only_a_beat_that_is_stored_writes_a_dropped_name_again() {
    let gateway = TestGateway::with(&[LISTENS, NAMES]);
    let mut client = caller(&gateway).await;
    let before = now_of(&mut client).await;
    put(&mut client, [of(ANN, [beat(1, before)])]).await;
    assert_eq!(gateway.control().post("/v1/erase", &json!({"sub": ANN})).await.status, 204);
    let sub = async || gateway.control().get("/v1/export?mid=1").await.json().get("sub").cloned();
    let late = put(&mut client, [of(ANN, [beat(1, before)]), of(ANN, [])]).await;
    assert_eq!((late[0].mid, late[0].rejected.len(), sub().await), (1, 1, None));
    let at = now_of(&mut client).await + 1;
    let stored = put(&mut client, [of(ANN, [beat(1, at)])]).await;
    assert_eq!((stored[0].rejected.len(), sub().await), (0, Some(json!(ANN))));
}
