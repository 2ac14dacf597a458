//! `contents.ids = "any"`: contents that are named by texts.

use redis::{Client, cmd};
use serde_json::{Value, json};

use crate::support::{Beat, MID, TestClient, TestGateway, beat, beats, items, reasons, run, until};

/// Texts that a proxy, a codec or a database might fold, trim, decode or cut off.
const ODD: [&str; 16] = [
    "6f1c0a52-0000-4000-8000-000000000001",
    "the-wire/s01e01",
    "film",
    "Film",
    "film ",
    " film",
    "фilm",
    "42",
    "042",
    "%2F",
    "a/b?c&d=e+f#g",
    "...",
    "\"quoted\\\"",
    "1:100",
    "a!b",
    "🎬👩‍👩‍👧",
];

const NAMES: (&str, &str) = ("contents.ids", "any");

fn of(name: &str, at: u64) -> Beat {
    beat(0, at).with("oid", name)
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// In an id, all but letters, digits, `-`, `.`, `_` and `~` is encoded.
fn in_id(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn contents(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"kind": 1, "oid": name})).collect()
}

fn oids(records: &Value) -> Vec<&str> {
    records.as_array().expect("a list").iter().map(|record| record["oid"].as_str().expect("a text")).collect()
}

async fn records(client: &mut TestClient, names: &[&str]) -> Value {
    client.call(json!({"get": {"items": contents(names)}})).await["records"].take()
}

#[tokio::test]
async fn each_name_is_a_content_byte_by_byte() {
    let mut gateway = TestGateway::with(&[NAMES]);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    assert_eq!(records(&mut client, &["film", "42"]).await, json!([null, null]));
    for (index, name) in (0..).zip(ODD) {
        client.watch([of(name, at + index).pos(1_000 * index)]).await;
    }
    for _ in 0..2 {
        let mut client = gateway.connect(MID).await;
        let found = records(&mut client, &ODD).await;
        assert_eq!(oids(&found), ODD);
        let listed = client.call(json!({"list": {"limit": 100}})).await;
        assert!(oids(&listed["records"]).into_iter().eq(ODD.into_iter().rev()), "{listed}");
        for (index, name) in ODD.into_iter().enumerate() {
            assert_eq!(found[index]["pos"], 1_000 * index, "{name:?}");
            let record = gateway.http(MID).get(&format!("/v1/history/1/{}", encoded(name))).await.json();
            assert_eq!((&record["oid"], &record["pos"]), (&json!(name), &json!(1_000 * index)));
        }
        let body = json!({"items": contents(&ODD)});
        assert_eq!(oids(&gateway.http(MID).post("/v1/history/get", &body).await.json()["records"]), ODD);
        assert!(
            oids(&gateway.http(MID).get("/v1/history").await.json()["records"]).into_iter().eq(ODD.into_iter().rev())
        );
        let page = gateway.control().get(&format!("/v1/export?mid={MID}")).await.json();
        assert_eq!(page["records"].as_array().map(Vec::len), Some(ODD.len()));
        assert!(oids(&page["records"]).iter().all(|oid| ODD.contains(oid)), "{page}");
        gateway.restart();
    }
}

#[tokio::test]
async fn pages_of_a_list_go_on_where_they_ended() {
    let gateway = TestGateway::with(&[NAMES]);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    // All of one moment: the cursor goes by the numbers inside.
    client.watch(ODD.map(|name| of(name, at))).await;
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    while seen.len() < ODD.len() {
        let page = client.call(json!({"list": {"limit": 5, "cursor": cursor}})).await;
        seen.extend(oids(&page["records"]).into_iter().map(str::to_owned));
        cursor = page["cursor"].clone();
    }
    seen.sort();
    let mut all = ODD.map(str::to_owned);
    all.sort();
    assert_eq!((seen, cursor), (all.to_vec(), Value::Null));
}

#[tokio::test]
async fn a_text_that_is_no_name_is_refused() {
    let gateway = TestGateway::with(&[NAMES]);
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    for bad in [json!(""), json!("."), json!(".."), json!("a\u{0}"), json!("\u{85}"), json!("n".repeat(129)), json!(42)]
    {
        let mut client = gateway.connect(MID).await;
        let refused = client.refused(beats([of("x", at).with("oid", bad.clone())])).await;
        assert!(refused["message"].as_str().expect("a text").starts_with("beats.items[0].oid: "), "{bad}: {refused}");
        let body = items([of("x", at).with("oid", bad.clone())]);
        gateway.http(MID).post("/v1/beats", &body).await.problem(400, "invalid");
        gateway
            .http(MID)
            .post("/v1/history/get", &json!({"items": [{"kind": 1, "oid": bad}]}))
            .await
            .problem(400, "invalid");
    }
    for bad in ["%00", "%C2%85", &"n".repeat(129)] {
        gateway.http(MID).get(&format!("/v1/history/1/{bad}")).await.problem(400, "invalid");
        gateway.http(MID).delete(&format!("/v1/history/1/{bad}")).await.problem(400, "invalid");
    }
    let longest = "n".repeat(128);
    client.watch([of(&longest, at)]).await;
    assert_eq!(oids(&records(&mut client, &[&longest]).await), [&longest]);
}

#[tokio::test]
async fn other_devices_are_told_by_name() {
    let gateway = TestGateway::with(&[NAMES]);
    let (mut phone, mut tv) = (gateway.connect(MID).await, gateway.connect(MID).await);
    let at = phone.now() - 10_000;
    phone.watch([of("the-wire/s01e01", at)]).await;
    assert_eq!(tv.pushed_record().await["oid"], "the-wire/s01e01");
    let late = tv.beats([of("the-wire/s01e01", at - 5_000).session(2)]).await;
    assert_eq!(reasons(&late), [(0, "superseded")]);
    assert_eq!(late[0]["record"]["oid"], "the-wire/s01e01");
    let body = items([of("the-wire/s01e01", at - 6_000).session(2)]);
    let answer = gateway.http(MID).post("/v1/beats", &body).await.json();
    assert_eq!(answer["rejected"][0]["record"]["oid"], "the-wire/s01e01");
    phone.call(json!({"delete": {"items": contents(&["the-wire/s01e01", "never seen"]), "at": at + 1}})).await;
    let deleted = tv.wait_for("a delete", |frame| !frame["push"]["deleted"].is_null()).await;
    assert_eq!(oids(&deleted["push"]["deleted"]), ["the-wire/s01e01", "never seen"]);
    phone.watch([of("%2F", at + 2)]).await;
    assert_eq!(gateway.http(MID).delete("/v1/history/1/%252F").await.status, 204);
    let deleted = tv.wait_for("a delete", |frame| !frame["push"]["deleted"].is_null()).await;
    assert_eq!(oids(&deleted["push"]["deleted"]), ["%2F"]);
}

#[tokio::test]
async fn a_frame_of_many_new_names_is_acked_whole() {
    let mut gateway = TestGateway::with(&[NAMES]);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    let names: Vec<String> = (0..500).map(|index| format!("{index:03}{}", "é".repeat(62))).collect();
    client.watch(names.iter().map(|name| of(name, at))).await;
    gateway.kill();
    gateway.restart();
    let mut client = gateway.connect(MID).await;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(oids(&records(&mut client, &names).await), names);
}

#[tokio::test]
async fn live_numbers_and_the_widget_go_by_name() {
    let lasting = [NAMES, ("live.timeout", "1h"), ("live.widget", "true"), ("live.widget_min", "1")];
    let gateway = TestGateway::with(&lasting);
    for (mid, name) in (1..).zip(["b", "a", "a/c", "a"]) {
        let mut client = gateway.connect(mid).await;
        client.watch([of(name, client.now())]).await;
    }
    let control = gateway.control();
    let top = async || control.get("/v1/live/top").await.json()["top"].clone();
    let row = |name: &str, sessions: u64| json!({"kind": 1, "oid": name, "sessions": sessions});
    let expected = json!([row("a", 2), row("a/c", 1), row("b", 1)]);
    until("all are watching", async || top().await == expected).await;
    assert_eq!(control.get("/v1/live/1/a%2Fc").await.json(), json!({"sessions": 1, "users": 1}));
    let tail = control.get("/v1/live/tail").await.json();
    assert_eq!(oids(&tail["tail"]), ["a", "a/c", "a", "b"], "the newest first");
    let widget = gateway.anonymous_http().get("/widget/v1.json").await.json();
    let row = |name: &str, users: u64| json!({"kind": 1, "oid": name, "users": users});
    assert_eq!(widget["top"], json!([row("a", 2), row("a/c", 1), row("b", 1)]));
}

#[tokio::test]
async fn views_are_counted_by_name() {
    let mut gateway = TestGateway::embedded(&[NAMES, ("views.by_request", "[3]")]);
    for name in ODD {
        let path = format!("/v1/views/3/{}", encoded(name));
        assert_eq!(gateway.http(MID).post(&path, &json!({})).await.json(), json!({"views": 1, "counted": true}));
    }
    gateway.restart();
    let asked: Vec<_> = ODD.iter().chain(&["unseen"]).map(|name| json!({"kind": 3, "oid": name})).collect();
    let totals = gateway.http(MID).post("/v1/views/get", &json!({"items": asked})).await.json();
    assert_eq!(totals["views"], json!([vec![1; ODD.len()], vec![0]].concat()));
    assert_eq!(gateway.http(MID).get("/v1/views/3/a%2Fb%3Fc%26d%3De%2Bf%23g/days").await.json()["total"], 1);
    assert_eq!(gateway.control().delete("/v1/views/3/film").await.status, 204);
    let totals = gateway.http(MID).post("/v1/views/get", &json!({"items": [{"kind": 3, "oid": "film"}]})).await.json();
    assert_eq!(totals["views"], json!([0]));
    gateway.http(MID).post("/v1/views/3/%00", &json!({})).await.problem(400, "invalid");
}

#[tokio::test]
async fn keys_of_derived_counters_have_the_name() {
    let derived = r#"[{ id = "viewers", key = ["kind", "oid"] }]"#;
    let gateway = TestGateway::embedded(&[NAMES, ("counters.derived", derived)]);
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch(ODD.map(|name| of(name, at))).await;
    let control = gateway.control();
    let get = async |path: &str| control.get(&format!("/v1/counters/viewers{path}")).await;
    until("it is counted", async || get("?key=1&key=film").await.status == 200).await;
    for name in ODD {
        assert_eq!(get(&format!("?key=1&key={}", encoded(name))).await.json()["value"], 1, "{name:?}");
    }
    let keys: Vec<_> = ODD.iter().chain(&["unseen"]).map(|name| json!(["1", name])).collect();
    let values = control.post("/v1/counters/viewers/get", &json!({"keys": keys})).await.json();
    assert_eq!(values["values"], json!([vec![1; ODD.len()], vec![0]].concat()));
    let top = get("/top?key=1").await.json();
    let told: Vec<_> = top["top"].as_array().expect("a list").iter().map(|one| one["key"].clone()).collect();
    assert!(told.len() == ODD.len() && keys[..ODD.len()].iter().all(|key| told.contains(key)), "{top}");
    assert_eq!(
        get("?key=1&key=..").await.problem(400, "invalid")["detail"],
        "key[1]: must not be \".\" or \"..\", which URLs cannot hold"
    );
}

/// Rewards, positions and forgettings, and the filters of subscribers.
#[tokio::test]
async fn events_and_filters_go_by_name() {
    let rules = r#"[{ id = "first-view", per = "content", kinds = [], watched = "0s", exact = false, expected = 1000, probability = 0.01 }]"#;
    let gateway = TestGateway::embedded(&[NAMES, ("rewards.rules", rules), ("subscribers.allow_http", "true")]);
    let control = gateway.control();
    // Nothing is delivered: its queue is looked at.
    let definition = json!({
        "url": "http://127.0.0.1:1/",
        "types": ["dev.heartline.reward.v1", "dev.heartline.position.v1", "dev.heartline.forgotten.v1"],
        "filter": {"contents": ["1:a:b", "2:film"]},
    });
    let put = control.put("/v1/subscribers/of-two", &definition).await;
    let made: Value = serde_json::from_str(put.text()).expect("an answer");
    assert_eq!((put.status, &made["filter"]), (201, &definition["filter"]));
    assert_eq!(control.post("/v1/subscribers/of-two/pause", &json!({})).await.status, 200);
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch(["a:b", "film", "42"].map(|name| of(name, at))).await;
    let today = client.welcome()["today"].as_str().expect("a day").to_owned();
    for _ in 0..3 {
        let reward = client.reward().await;
        let name = reward["oid"].as_str().expect("a name");
        assert_eq!(reward["id"], json!(format!("first-view:{today}:{MID}:1:{}", in_id(name))));
    }
    let rewards = gateway.http(MID).get("/v1/rewards/today").await.json();
    assert_eq!(rewards["rewards"].as_array().map(Vec::len), Some(3), "{rewards}");
    until("the events", async || gateway.event_log().await.len() == 3).await;
    for event in gateway.event_log().await {
        let name = event["event"]["data"]["oid"].as_str().expect("a name").to_owned();
        assert!(["a:b", "film", "42"].contains(&&*name), "{event}");
        assert_eq!(event["event"]["id"], json!(format!("first-view:{today}:{MID}:1:{}", in_id(&name))));
    }
    let depth = async || control.get("/v1/subscribers/of-two").await.json()["depth"].clone();
    // Of three rewards and three positions those of one content.
    until("its events", async || depth().await == 2).await;
    client.call(json!({"delete": {"items": contents(&["42"]), "at": at + 1}})).await;
    // A forgetting has no content of its own.
    until("the forgetting", async || depth().await == 3).await;
    let shown = control.get("/v1/subscribers").await.json();
    assert_eq!(shown["subscribers"][0]["filter"], definition["filter"]);
    let mut wrong = definition.clone();
    wrong["filter"]["contents"] = json!(["1:a", "film"]);
    let refused = control.put("/v1/subscribers/of-two", &wrong).await;
    assert!(refused.problem(400, "invalid")["detail"].as_str().expect("a text").starts_with("filter.contents[1]: "));
}

#[tokio::test]
async fn the_way_of_naming_is_fixed_with_the_store() {
    for (first, then) in [("any", "number"), ("number", "any")] {
        let mut gateway = TestGateway::embedded(&[("contents.ids", first)]);
        let mut client = gateway.connect(MID).await;
        client.watch([of("42", client.now())]).await;
        gateway.kill();
        let directory = gateway.data_dir();
        let settings = [("contents.ids", then), ("store.data_dir", directory.to_str().expect("ASCII"))];
        let refused = run(&["serve"], &settings);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(78), "{said}");
        assert!(said.contains(&format!("contents.ids: is \"{then}\", and was \"{first}\"")), "{said}");
    }
}

/// Whichever gateway a viewer connects to, contents have their names, also on one that has stored none of them.
#[tokio::test]
#[ignore = "needs Redis: tests/run services"]
async fn two_gateways_know_the_same_contents() {
    let one = TestGateway::shared(&[NAMES]);
    let other = one.neighbour();
    let (mut here, mut there) = (one.connect(MID).await, other.connect(MID).await);
    let at = here.now() - 1_000;
    for name in ODD {
        here.watch([of(name, at)]).await;
        there.wait_for("the record", |frame| frame["push"]["record"]["oid"] == name).await;
    }
    assert_eq!(oids(&records(&mut there, &ODD).await), ODD);
    let refused = one.try_neighbour("all", &[("contents.ids", "number")], &[]).err().expect("refused");
    assert!(refused.stderr.contains("contents.ids: is \"number\", and "), "{}", refused.stderr);
}

/// `film` has the number that another text has already: what a collision of hashes leaves.
#[tokio::test]
#[ignore = "needs Redis: tests/run services"]
async fn a_name_whose_number_belongs_to_another_is_invalid() {
    const OID: u64 = 15_015_141_323_145_644_842;
    let gateway = TestGateway::on_redis(&[NAMES]);
    let mut redis = Client::open(gateway.redis_url()).expect("an address").get_connection().expect("a connection");
    // One of them is its shard.
    for shard in 0..1_000 {
        cmd("SET").arg(format!("{{h{shard}}}:content:{OID}")).arg("another").exec(&mut redis).expect("set");
    }
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    for _ in 0..2 {
        let rejected = client.beats([of("song", at), of("film", at), of("42", at)].map(|beat| beat.session(2))).await;
        assert_eq!(
            reasons(&rejected).into_iter().filter(|(_, reason)| *reason == "invalid").collect::<Vec<_>>(),
            [(1, "invalid")]
        );
    }
    assert_eq!(oids(&client.call(json!({"list": {}})).await["records"]).len(), 2);
    let body = items([of("film", at), of("new", at)]);
    let answer = gateway.http(MID).post("/v1/beats", &body).await.json();
    assert_eq!(reasons(answer["rejected"].as_array().expect("a list")), [(0, "invalid")]);
    let refused = gateway.http(MID).delete("/v1/history/1/film").await;
    assert_eq!(refused.problem(400, "invalid")["detail"], "oid: its number belongs to another content");
    assert_eq!(gateway.http(MID).delete("/v1/history/1/song").await.status, 204);
}
