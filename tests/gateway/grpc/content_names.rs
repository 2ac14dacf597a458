//! Contents that are named by texts.

use serde_json::json;
use tonic::Code;

use super::{Client, LISTENS, batch, beat, caller, now, wire};
use crate::support::{MID, TestGateway};

const NAMES: (&str, &str) = ("contents.ids", "any");
const FILM: &str = "the-wire/s01e01 é";

fn of(name: &str, at: u64) -> wire::Beat {
    wire::Beat { oid: None, name: name.to_owned(), ..beat(0, at) }
}

fn named(names: &[&str]) -> Vec<wire::Content> {
    names.iter().map(|name| wire::Content { kind: Some(1), oid: None, name: (*name).to_owned() }).collect()
}

fn users(items: Vec<wire::Beat>) -> Vec<wire::UserBeats> {
    vec![wire::UserBeats { mid: Some(MID), items, ..wire::UserBeats::default() }]
}

async fn get(client: &mut Client, names: &[&str]) -> Vec<Option<String>> {
    let request = wire::GetRequest { mid: Some(MID), items: named(names), ..wire::GetRequest::default() };
    let answer = client.get(request).await.expect("an answer").into_inner();
    answer.records.into_iter().map(|slot| slot.record.map(|record| record.name)).collect()
}

#[tokio::test]
async fn each_call_takes_a_name_and_the_answer_has_it() {
    let rules = r#"[{ id = "first-view", per = "content", kinds = [], watched = "0s", exact = false, expected = 1000, probability = 0.01 }]"#;
    let mut gateway = TestGateway::with(&[LISTENS, NAMES, ("rewards.rules", rules)]);
    let mut client = caller(&gateway).await;
    let at = now(&mut client).await - 1_000;
    assert_eq!(get(&mut client, &[FILM]).await, [None]);
    let put = client.put(batch(users(vec![of(FILM, at), of("042", at + 1)]))).await.expect("an answer").into_inner();
    assert!(put.users[0].rejected.is_empty(), "{put:?}");
    let reward = put.users[0].rewards.iter().find(|reward| reward.id.contains("the-wire")).expect("a reward");
    assert!(reward.id.ends_with(&format!(":{MID}:1:the-wire%2Fs01e01%20%C3%A9")), "{reward:?}");
    let content = wire::Content { kind: Some(1), oid: None, name: FILM.to_owned() };
    assert_eq!(reward.content, Some(content));

    gateway.restart();
    let mut client = caller(&gateway).await;
    assert_eq!(get(&mut client, &["042", FILM, "42"]).await, [Some("042".to_owned()), Some(FILM.to_owned()), None]);
    for by_content in [false, true] {
        let list = wire::ListRequest { mid: Some(MID), by_content, ..wire::ListRequest::default() };
        let page = client.list(list).await.expect("a page").into_inner();
        let mut names: Vec<_> = page.records.iter().map(|record| (record.name.as_str(), record.oid)).collect();
        names.sort_unstable();
        assert_eq!(names, [("042", 0), (FILM, 0)]);
    }
    let rewards = wire::RewardsRequest { mid: Some(MID), ..wire::RewardsRequest::default() };
    let rewards = client.rewards(rewards).await.expect("an answer").into_inner().rewards;
    assert!(rewards.iter().any(|reward| reward.content.as_ref().is_some_and(|content| content.name == FILM)));
    let late = client.put(batch(users(vec![of(FILM, at - 5_000)]))).await.expect("an answer").into_inner();
    let record = late.users[0].rejected[0].record.clone().expect("the record that won");
    assert_eq!((record.name.as_str(), record.oid), (FILM, 0));

    let mut socket = gateway.connect(MID).await;
    let delete = wire::DeleteRequest { mid: Some(MID), items: named(&[FILM]), ..wire::DeleteRequest::default() };
    client.delete(delete).await.expect("deleted");
    let push = socket.wait_for("a delete", |frame| !frame["push"]["deleted"].is_null()).await;
    assert_eq!(push["push"]["deleted"], json!([{"kind": 1, "oid": FILM}]));
    assert_eq!(get(&mut client, &[FILM]).await, [None]);
}

#[tokio::test]
async fn what_names_no_content_is_refused() {
    let gateway = TestGateway::with(&[LISTENS, NAMES]);
    let mut client = caller(&gateway).await;
    let at = now(&mut client).await;
    for (item, complaint) in [
        (beat(1, at), "must be given instead of oid (contents.ids)"),
        (wire::Beat { oid: Some(1), ..of("a", at) }, "must be given instead of oid (contents.ids)"),
        (of("", at), "is missing"),
        (of("..", at), "must not be \".\" or \"..\", which URLs cannot hold"),
        (of(&"n".repeat(129), at), "must be from 1 to 128 bytes long"),
    ] {
        let refused = client.put(batch(users(vec![item]))).await.expect_err("refused");
        let message = format!("users[0].items[0].name: {complaint}");
        assert_eq!((refused.code(), refused.message()), (Code::InvalidArgument, &*message));
    }
    let numbers = TestGateway::with(&[LISTENS]);
    let refused = caller(&numbers).await.put(batch(users(vec![of("a", at)]))).await.expect_err("refused");
    assert_eq!(refused.message(), "users[0].items[0].name: contents are named by oid here (contents.ids)");
}
