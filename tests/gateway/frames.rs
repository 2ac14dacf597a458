//! What a frame must be: one seq, one operation, and nothing of a refused one applied.

use serde_json::{Value, json};

use crate::support::{MID, TestGateway, beat, beats};

#[tokio::test]
async fn a_frame_that_is_no_object_is_invalid_and_has_no_seq() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    for text in ["", " ", "not JSON", "{", "[]", "null", "7", r#""get""#, r#"{"seq":1,"get":{}"#, "\u{0}"] {
        client.send_text(text).await;
        let error = client.error().await;
        assert_eq!(error["code"], "invalid", "{text}");
        assert_eq!(error["retry"], json!(false), "{text}");
        assert!(!error["message"].as_str().expect("a message").is_empty());
        assert_eq!(error.get("seq"), None, "{text}");
        client.still_serves().await;
    }
}

#[tokio::test]
async fn deep_nesting_and_repeated_names_are_refused_or_ignored() {
    let gateway = TestGateway::start();
    let mut bystander = gateway.connect(43).await;
    let deep = format!("{}{}", "[".repeat(60_000), "]".repeat(60_000));
    for text in [
        format!(r#"{{"seq":1,"x":{deep}}}"#),
        format!(r#"{{"seq":1,"get":{{"items":{deep}}}}}"#),
        format!(r#"{{"seq":1,"get":{{"items":[],"x":{deep}}}}}"#),
        format!(r#"{{"seq":1,"get":{{"items":[{}"#, r#"{"kind":1,"oid":"#.repeat(7_000)),
        deep,
        r#"{"seq":1,"get":{"items":[]},"get":{"items":[]}}"#.to_owned(),
        r#"{"seq":1,"get":{"items":[],"items":[]}}"#.to_owned(),
        r#"{"seq":1,"seq":2,"get":{"items":[]}}"#.to_owned(),
    ] {
        let mut client = gateway.connect(MID).await;
        client.send_text(&text).await;
        client.send_as(7, json!({"get": {"items": []}})).await;
        let first = client.next().await;
        assert!(first["error"].is_object() || first["result"].is_object(), "{first}");
        assert_eq!(client.answer(7).await["result"]["records"], json!([]));
        bystander.still_serves().await;
    }
}

#[tokio::test]
async fn a_frame_without_an_operation_is_invalid() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    assert_eq!(client.refused(json!({})).await["code"], "invalid");
}

#[tokio::test]
async fn two_operations_are_invalid_and_neither_is_applied() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let mut frame = beats([beat(100, client.now())]);
    frame["get"] = json!({"items": [{"kind": 1, "oid": "100"}]});
    assert_eq!(client.refused(frame).await["code"], "invalid");
    assert_eq!(client.record(100).await, Value::Null);
}

#[tokio::test]
async fn unknown_operations_alone_are_unknown_operation() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    for frame in [json!({"salute": {}}), json!({"a": 1, "b": 2}), json!({"Get": {"items": []}})] {
        let error = client.refused(frame.clone()).await;
        assert_eq!(error["code"], "unknown_operation", "{frame}");
        assert_eq!(error["retry"], json!(false));
    }
}

#[tokio::test]
async fn unknown_names_beside_an_operation_are_ignored() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    client.call(json!({"get": {"items": []}, "salute": {"a": [1]}, "mid": "43"})).await;
}

#[tokio::test]
async fn unknown_fields_inside_an_operation_are_ignored() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at).with("mood", json!({"good": true})).with("version", 9)]).await;
    let record = client.record(100).await;
    assert_eq!((record.get("mood"), record.get("version")), (None, None));
    let items = json!([{"kind": 1, "oid": "100", "extra": null}]);
    let result = client.call(json!({"get": {"items": items, "extra": 1}})).await;
    assert_eq!(result["records"][0]["oid"], "100");
}

#[tokio::test]
async fn one_bad_beat_refuses_its_whole_frame() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    let bad = beat(101, at).with("pos", -1);
    let error = client.refused(beats([beat(100, at), bad, beat(102, at)])).await;
    assert_eq!(error["message"].as_str().and_then(|text| text.split(':').next()), Some("beats.items[1].pos"));
    assert_eq!(client.listed(json!({})).await, [0; 0]);
}

#[tokio::test]
async fn ids_are_accepted_as_digits_with_leading_zeros_and_as_numbers() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    let largest = 9_007_199_254_740_991_u64;
    for (oid, answer) in [
        (json!("007"), "7"),
        (json!("0"), "0"),
        (json!("18446744073709551615"), "18446744073709551615"),
        (json!("0000000000000000000000000000018446744073709551615"), "18446744073709551615"),
        (json!(8), "8"),
        (json!(largest), "9007199254740991"),
    ] {
        client.watch([beat(1, at).with("oid", oid.clone()).with("session", oid.clone())]).await;
        let mut result = client.call(json!({"get": {"items": [{"kind": 1, "oid": oid}]}})).await;
        let record = result["records"][0].take();
        assert_eq!((&record["oid"], &record["session"]), (&json!(answer), &json!(answer)), "{oid}");
    }
}

#[tokio::test]
async fn optional_fields_of_a_beat_have_defaults() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at).without("watched")]).await;
    let record = client.record(100).await;
    assert_eq!(record["watched"], 0);
    assert_eq!(record.get("progress"), None, "a length that is not known");
    client.watch([beat(101, at).dur(0).with("rate", 0)]).await;
    assert_eq!(client.record(101).await.get("progress"), None);
}

#[tokio::test]
async fn the_smallest_and_largest_values_are_accepted() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(0, at).kind(0).pos(0).session(0), beat(1, at).kind(u16::MAX)]).await;
    let records = client.call(json!({"list": {"kinds": [0, 65_535]}})).await;
    assert_eq!(records["records"].as_array().expect("records").len(), 2);
    client.call(json!({"hello": {"device": "d".repeat(64), "client": "c".repeat(64)}})).await;
    client.call(json!({"hello": {"device": "", "client": ""}})).await;
    let kinds: Vec<u16> = (0..32).collect();
    client.call(json!({"list": {"kinds": kinds}})).await;
}

#[tokio::test]
async fn full_size_beats_up_to_the_limit_fit_into_one_frame() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    let large = (1_u64 << 53) - 1;
    let full = |index: u64| {
        let full = beat(u64::MAX - index, at).kind(u16::MAX).session(u64::MAX - index);
        full.pos(large).dur(large).watched(large).with("rate", 15.875)
    };
    client.watch((0..500).map(full)).await;
    let list = client.call(json!({"list": {"limit": 200}})).await;
    assert_eq!(list["records"].as_array().expect("records").len(), 200);
}

#[tokio::test]
async fn too_many_beats_or_items_are_refused_whole() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    let items: Vec<Value> = (0..501).map(|oid| json!({"kind": 1, "oid": oid})).collect();
    for frame in [
        beats((0..501).map(|oid| beat(oid, at))),
        json!({"get": {"items": items}}),
        json!({"delete": {"items": items, "at": at}}),
    ] {
        let error = client.refused(frame).await;
        assert_eq!((&error["code"], &error["retry"]), (&json!("too_many"), &json!(false)));
        client.still_serves().await;
    }
    assert_eq!(client.listed(json!({})).await, [0; 0]);
}
