//! Every operation but `Put`.

use serde_json::{Value, json};
use tonic::Code;

use super::{beat, caller, contents, get, now, put, served, wire};
use crate::support::MID;

fn list(limit: u32, cursor: &str) -> wire::ListRequest {
    wire::ListRequest { mid: Some(MID), limit: Some(limit), cursor: cursor.to_owned(), ..wire::ListRequest::default() }
}

fn oids(page: &wire::ListResponse) -> Vec<u64> {
    page.records.iter().map(|record| record.oid).collect()
}

#[tokio::test]
async fn a_list_comes_in_pages_whose_cursors_hold_over_http_too() {
    let gateway = served(&[]);
    let mut client = caller(&gateway).await;
    let at = now(&mut client).await - 1_000;
    let other_kind = wire::Beat { kind: Some(3), ..beat(50, at + 50) };
    put(&mut client, MID, (1..=9).map(|oid| beat(oid, at + oid)).chain([other_kind])).await;

    let request = wire::ListRequest { kinds: vec![1], ..list(4, "") };
    let first = client.list(request).await.expect("a page").into_inner();
    assert_eq!(oids(&first), [9, 8, 7, 6]);
    let second = client.list(list(4, &first.cursor)).await.expect("a page").into_inner();
    assert_eq!(oids(&second), [5, 4, 3, 2], "the cursor has the kinds");
    let last = gateway.http(MID).get(&format!("/v1/history?cursor={}", second.cursor)).await.json();
    assert_eq!((&last["records"][0]["oid"], &last["cursor"]), (&json!("1"), &Value::Null));
    let http = gateway.http(MID).get("/v1/history?limit=2").await.json();
    let cursor = http["cursor"].as_str().expect("a cursor");
    let page = client.list(list(1_000, cursor)).await.expect("a page").into_inner();
    assert_eq!((oids(&page), page.cursor.as_str()), (vec![8, 7, 6, 5, 4, 3, 2, 1], ""));
    let twenty = wire::ListRequest { mid: Some(MID), ..wire::ListRequest::default() };
    assert_eq!(client.list(twenty).await.expect("a page").into_inner().records.len(), 10);
}

#[tokio::test]
async fn a_list_by_content_has_each_record_once_though_some_move_ahead() {
    let gateway = served(&[]);
    let mut client = caller(&gateway).await;
    let at = now(&mut client).await - 1_000;
    put(&mut client, MID, (1..=50).map(|oid| beat(oid, at + oid))).await;
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    for page in 1.. {
        let request = wire::ListRequest { by_content: true, ..list(10, &cursor) };
        let shown = client.list(request).await.expect("a page").into_inner();
        seen.extend(oids(&shown));
        if shown.cursor.is_empty() {
            break;
        }
        cursor = shown.cursor;
        // A list that begins with the newest would come by neither any more, or by one of them twice.
        put(&mut client, MID, [beat(2, at + 100 + page), beat(45, at + 100 + page)]).await;
    }
    assert_eq!(seen, (1..=50).collect::<Vec<_>>());
    for (wrong, path) in [
        (wire::ListRequest { by_content: true, finished: Some(true), ..list(10, "") }, "finished"),
        (wire::ListRequest { by_content: true, ..list(0, "") }, "limit"),
        (wire::ListRequest { by_content: true, ..list(10, "nonsense") }, "cursor"),
        (wire::ListRequest { by_content: true, kinds: vec![3], ..list(10, &cursor) }, "kinds"),
        (list(10, &cursor), "cursor"),
    ] {
        let refused = client.list(wrong).await.expect_err(path);
        assert!(refused.code() == Code::InvalidArgument && refused.message().starts_with(path), "{refused:?}");
    }
}

#[tokio::test]
async fn a_list_holds_what_is_finished_or_what_is_not() {
    let gateway = served(&[]);
    let mut client = caller(&gateway).await;
    let at = now(&mut client).await - 1_000;
    let ended = |beat| wire::Beat { state: Some(wire::State::Ended.into()), ..beat };
    let of_oid = |oid| if oid % 2 == 0 { ended(beat(oid, at + oid)) } else { beat(oid, at + oid) };
    put(&mut client, MID, (1..=9).map(of_oid)).await;

    let filtered = |finished| wire::ListRequest { finished: Some(finished), ..list(3, "") };
    let over = client.list(filtered(true)).await.expect("a page").into_inner();
    assert_eq!((oids(&over), over.records.iter().all(|record| record.finished)), (vec![8, 6, 4], true));
    let first = client.list(filtered(false)).await.expect("a page").into_inner();
    assert_eq!(oids(&first), [9, 7, 5]);
    let second = client.list(list(3, &first.cursor)).await.expect("a page").into_inner();
    assert_eq!((oids(&second), second.cursor.as_str()), (vec![3, 1], ""), "the cursor has the filter");
    let over_http = gateway.http(MID).get(&format!("/v1/history?cursor={}", first.cursor)).await.json();
    assert_eq!(over_http["records"][0]["oid"], "3");
    let other = wire::ListRequest { cursor: first.cursor, ..filtered(true) };
    let refused = client.list(other).await.expect_err("another filter");
    let message = "finished: must be that of the cursor";
    assert_eq!((refused.code(), refused.message()), (Code::InvalidArgument, message));
}

#[tokio::test]
async fn what_makes_no_sense_is_named_by_its_path() {
    let gateway = served(&[]);
    let mut client = caller(&gateway).await;
    let far = u64::MAX;
    let kinds = |kinds| wire::ListRequest { kinds, ..list(1, "") };
    let refused = [
        (client.list(list(0, "")).await.err(), "limit: must be at least 1"),
        (client.list(list(1, "AAAA")).await.err(), "cursor: must be one given by a list"),
        (client.list(kinds(vec![1, 65_536])).await.err(), "kinds[1]: must be at most 65535"),
        (client.list(kinds(vec![1; 33])).await.err(), "kinds: must hold at most 32"),
        (client.get(wire::GetRequest::default()).await.map(drop).err(), "mid: is missing"),
        (
            client
                .clear(wire::ClearRequest { mid: Some(1), at: Some(far), ..Default::default() })
                .await
                .map(drop)
                .err(),
            "at: must be at most 9007199254740991",
        ),
        (
            client
                .clear(wire::ClearRequest { mid: Some(1), at: Some(1 << 52), ..Default::default() })
                .await
                .map(drop)
                .err(),
            "at: must not be ahead of the server's clock",
        ),
        (
            client
                .set_recording(wire::SetRecordingRequest { mid: Some(1), ..Default::default() })
                .await
                .map(drop)
                .err(),
            "paused: is missing",
        ),
        (
            client.open(wire::OpenRequest { mid: Some(1), sub: "ann".into() }).await.map(drop).err(),
            "sub: must not be given beside mid",
        ),
        (
            client.users(wire::UsersRequest { limit: Some(10_001), ..Default::default() }).await.map(drop).err(),
            "limit: must be at most 10000",
        ),
    ]
    .map(|(status, expected): (Option<tonic::Status>, _)| (status.expect("a refusal"), expected));
    for (status, expected) in refused {
        assert_eq!((status.code(), status.message()), (Code::InvalidArgument, expected));
    }
    let items = contents(0..501);
    let many = client.get(wire::GetRequest { mid: Some(1), items, ..Default::default() }).await.expect_err("too many");
    assert_eq!((many.code(), many.message()), (Code::InvalidArgument, "items: must hold at most 500"));
}

#[tokio::test]
async fn deletes_and_clears_are_committed_and_pushed() {
    let gateway = served(&[]);
    let (mut client, mut socket) = (caller(&gateway).await, gateway.connect(MID).await);
    let at = now(&mut client).await;
    put(&mut client, MID, (1..=4).map(|oid| beat(oid, at + oid))).await;
    let delete = |oids: &[u64], at| wire::DeleteRequest {
        mid: Some(MID),
        items: contents(oids.iter().copied()),
        at,
        ..wire::DeleteRequest::default()
    };
    let deleted = client.delete(delete(&[1, 2], Some(at + 1))).await.expect("an answer").into_inner();
    assert_eq!(deleted.at, at + 1);
    let there = |records: &[Option<wire::Record>]| records.iter().map(Option::is_some).collect::<Vec<_>>();
    assert_eq!(there(&get(&mut client, MID, 1..=4).await), [false, true, true, true], "the second is newer");
    // A record may be ahead of the clock, and a delete without a moment is not before it.
    put(&mut client, MID, [beat(2, at + 4_000)]).await;
    let deleted = client.delete(delete(&[2], None)).await.expect("an answer").into_inner();
    assert!(deleted.at >= at + 4_000, "{deleted:?}");
    assert_eq!(there(&get(&mut client, MID, 1..=4).await), [false, false, true, true]);
    let pushed = |frame: &Value| frame["push"]["deleted"].is_array();
    assert_eq!(socket.wait_for("a push", pushed).await["push"]["deleted"][0]["oid"], "1");

    let clear = wire::ClearRequest { mid: Some(MID), ..wire::ClearRequest::default() };
    let cleared = client.clear(clear).await.expect("an answer").into_inner();
    assert!(cleared.at >= at);
    assert_eq!(there(&get(&mut client, MID, 1..=4).await), [false; 4]);
    socket.wait_for("a push", |frame| frame["push"]["cleared"] == true).await;
}

#[tokio::test]
async fn a_switch_without_a_moment_is_newer_than_the_last() {
    let gateway = served(&[]);
    let mut client = caller(&gateway).await;
    let at = now(&mut client).await;
    let switch = |paused, at| wire::SetRecordingRequest {
        mid: Some(MID),
        paused: Some(paused),
        at,
        ..wire::SetRecordingRequest::default()
    };
    let state = |answer: tonic::Response<wire::RecordingState>| answer.into_inner().paused;
    assert!(state(client.set_recording(switch(true, Some(at + 4_000))).await.expect("an answer")));
    assert!(!state(client.set_recording(switch(false, None)).await.expect("an answer")), "a new decision holds");
    assert!(state(client.set_recording(switch(true, None)).await.expect("an answer")));
    assert!(state(client.set_recording(switch(false, Some(at))).await.expect("an answer")), "an older one does not");
    let asked = wire::GetRecordingRequest { mid: Some(MID), sub: String::new() };
    assert!(state(client.get_recording(asked).await.expect("an answer")));
    let open = client.open(wire::OpenRequest { mid: Some(MID), sub: String::new() }).await.expect("an answer");
    assert!(open.into_inner().paused);
}

#[tokio::test]
async fn users_with_records_are_listed_in_ascending_order() {
    let gateway = served(&[]);
    let mut client = caller(&gateway).await;
    let at = now(&mut client).await;
    let mids = [0, 1, 5, 900, 7_000, 1 << 40, u64::MAX];
    for mid in mids {
        put(&mut client, mid, [beat(1, at)]).await;
    }
    // A deletion is kept, and is no record.
    for gone in [6, 901] {
        put(&mut client, gone, [beat(1, at)]).await;
        let clear = wire::ClearRequest { mid: Some(gone), ..wire::ClearRequest::default() };
        client.clear(clear).await.expect("an answer");
    }
    let mut page = async |after, limit| {
        let users = client.users(wire::UsersRequest { after, limit }).await.expect("a page").into_inner().users;
        users.into_iter().map(|user| user.mid).collect::<Vec<_>>()
    };
    assert_eq!(page(None, None).await, mids);
    assert_eq!(page(None, Some(3)).await, mids[..3]);
    assert_eq!(page(Some(5), Some(3)).await, mids[3..6]);
    assert_eq!(page(Some(1 << 40), Some(3)).await, mids[6..], "fewer are the last ones");
    assert!(page(Some(u64::MAX), Some(3)).await.is_empty());
}
