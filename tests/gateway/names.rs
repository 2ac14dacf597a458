//! `auth.subjects = "any"`: users who are named by texts.

use serde_json::{Value, json};

use crate::support::{TestClient, TestGateway, Token, beat, reasons, run, until};

/// Texts that a proxy, a codec or a database might fold, trim, decode or cut off.
const ODD: [&str; 16] = [
    "6f1c0a52-0000-4000-8000-000000000001",
    "auth0|640503a5e7c1",
    "ann",
    "Ann",
    "ann ",
    " ann",
    "аnn",
    "a\u{30a}nn",
    "ånn",
    "42",
    "042",
    "%2F",
    "a/b?c&d=e+f",
    "..",
    "\"quoted\\\"",
    "🎬👩‍👩‍👧",
];

const NAMES: (&str, &str) = ("auth.subjects", "any");
const RULES: (&str, &str) =
    ("rewards.rules", r#"[{ id = "first", per = "user", kinds = [], watched = "0s", exact = true }]"#);

fn token(name: &str) -> String {
    Token::of(0).claim("sub", name).sign()
}

async fn connect(gateway: &TestGateway, name: &str) -> TestClient {
    gateway.upgrade().bearer(&token(name)).welcomed().await
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// In an id, all but letters, digits, `-`, `.`, `_` and `~` is encoded.
fn in_id(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

async fn export(gateway: &TestGateway, query: &str) -> Value {
    gateway.control().get(&format!("/v1/export?{query}")).await.json()
}

#[tokio::test]
async fn each_name_is_a_user_byte_by_byte() {
    let mut gateway = TestGateway::with(&[NAMES]);
    let mut mids = Vec::new();
    for (index, name) in ODD.into_iter().enumerate() {
        let mut client = connect(&gateway, name).await;
        assert_eq!(client.welcome()["sub"], name);
        mids.push(client.welcome()["mid"].as_str().expect("a number").to_owned());
        assert!(client.listed(json!({})).await.is_empty(), "{name:?} has what another one has watched");
        client.watch([beat(100, client.now()).pos(1_000 * index as u64)]).await;
    }
    for _ in 0..2 {
        for (index, name) in ODD.into_iter().enumerate() {
            let mut client = connect(&gateway, name).await;
            assert_eq!((&client.welcome()["mid"], &client.welcome()["sub"]), (&json!(mids[index]), &json!(name)));
            assert_eq!(client.position(100).await, Some(1_000 * index as u64), "{name:?}");
            for query in [format!("sub={}", encoded(name)), format!("mid={}", mids[index])] {
                let page = export(&gateway, &query).await;
                assert_eq!((&page["mid"], &page["sub"]), (&json!(mids[index]), &json!(name)), "{query}");
                assert_eq!(page["records"][0]["pos"], 1_000 * index, "{query}");
            }
            let http = gateway.anonymous_http().bearer(&token(name));
            assert_eq!(http.get("/v1/history/1/100").await.json()["pos"], 1_000 * index);
        }
        gateway.restart();
    }
}

#[tokio::test]
async fn a_text_that_is_no_name_is_refused() {
    let gateway = TestGateway::with(&[NAMES]);
    for bad in ["", "a\u{0}", "a\nb", "\u{7f}", "\u{85}", &"n".repeat(257)] {
        assert_eq!(gateway.upgrade().bearer(&token(bad)).refused().await.status, 401, "{bad:?}");
        let export = gateway.control().get(&format!("/v1/export?sub={}", encoded(bad))).await;
        assert!(export.problem(400, "invalid")["detail"].as_str().expect("a text").starts_with("sub: "), "{bad:?}");
    }
    let numeric = Token::of(0).claim("sub", 42).sign();
    assert_eq!(gateway.upgrade().bearer(&numeric).refused().await.status, 401, "a number is no text");
    let longest = "n".repeat(256);
    assert_eq!(connect(&gateway, &longest).await.welcome()["sub"], json!(longest));
}

#[tokio::test]
async fn another_claim_may_name_the_user() {
    let gateway = TestGateway::with(&[NAMES, ("auth.user_claim", "https://example.com/uid")]);
    let of = |uid: &str| Token::of(7).claim("https://example.com/uid", uid);
    let client = gateway.upgrade().bearer(&of("ann").sign()).welcomed().await;
    assert_eq!(client.welcome()["sub"], "ann");
    assert_eq!(gateway.upgrade().bearer(&Token::of(7).sign()).refused().await.status, 401, "sub is not looked at");
    let without_sub = gateway.upgrade().bearer(&of("ann").without("sub").sign()).welcomed().await;
    assert_eq!(without_sub.welcome()["mid"], client.welcome()["mid"]);
}

#[tokio::test]
async fn a_renewal_must_be_of_the_same_name() {
    let gateway = TestGateway::with(&[NAMES]);
    let mut client = connect(&gateway, "ann").await;
    client.call(json!({"token": {"token": token("ann")}})).await;
    let refused = client.refused(json!({"token": {"token": token("Ann")}})).await;
    assert_eq!(refused["code"], "unauthorized", "{refused}");
    client.watch([beat(100, client.now())]).await;
}

#[tokio::test]
async fn a_read_gives_no_number() {
    let gateway = TestGateway::with(&[NAMES]);
    let http = gateway.anonymous_http().bearer(&token("ann"));
    assert_eq!(http.get("/v1/history").await.json()["records"], json!([]));
    assert_eq!(http.get("/v1/recording").await.json(), json!({"paused": false}));
    http.get("/v1/history/1/100").await.problem(404, "not_found");
    let page = export(&gateway, "sub=ann").await;
    assert_eq!((&page["sub"], page.get("mid"), &page["records"]), (&json!("ann"), None, &json!([])));
    let ben = connect(&gateway, "ben").await;
    assert_eq!(ben.welcome()["mid"], "1", "the first name that got a number");
    let page = export(&gateway, "mid=2").await;
    assert_eq!((&page["mid"], page.get("sub"), &page["records"]), (&json!("2"), None, &json!([])));
    let erased = gateway.control().post("/v1/erase", &json!({"mid": "2"})).await;
    assert_eq!(erased.problem(400, "invalid")["detail"], "mid: is not the number of a user");
}

#[tokio::test]
async fn calls_name_a_user_in_one_way() {
    let gateway = TestGateway::with(&[NAMES]);
    let control = gateway.control();
    for path in ["/v1/kick", "/v1/erase", "/v1/revoke"] {
        let both = control.post(path, &json!({"mid": "1", "sub": "ann"})).await;
        assert_eq!(both.problem(400, "invalid")["detail"], "sub: must not be given together with mid", "{path}");
    }
    let numbers = TestGateway::with(&[]);
    let erased = numbers.control().post("/v1/erase", &json!({"sub": "ann"})).await;
    assert_eq!(erased.problem(400, "invalid")["detail"], "sub: users are named by mid here (auth.subjects)");
    assert_eq!(numbers.connect(42).await.welcome().get("sub"), None);
}

#[tokio::test]
async fn kicks_and_revocations_reach_a_name() {
    let gateway = TestGateway::with(&[NAMES]);
    let (mut ann, mut ben) = (connect(&gateway, "ann").await, connect(&gateway, "ben").await);
    let control = gateway.control();
    assert_eq!(control.post("/v1/revoke", &json!({"sub": "ann"})).await.status, 204);
    assert_eq!(ann.closed().await, 4003);
    assert_eq!(gateway.upgrade().bearer(&token("ann")).refused().await.status, 403);
    let revocations = control.get("/v1/revoke").await.json();
    assert_eq!(revocations["revocations"][0]["sub"], "ann", "{revocations}");
    assert_eq!(control.delete("/v1/revoke?sub=ann").await.status, 204);
    let _ann = connect(&gateway, "ann").await;
    assert_eq!(control.post("/v1/kick", &json!({"sub": "ben"})).await.status, 204);
    assert_eq!(ben.closed().await, 4003);
    let page = control.get("/v1/connections?sub=ann").await.json();
    assert_eq!((&page["sub"], page["connections"].as_array().map(Vec::len)), (&json!("ann"), Some(1)), "{page}");
}

#[tokio::test]
async fn rewards_and_their_events_are_told_by_name() {
    let gateway = TestGateway::with(&[NAMES, RULES]);
    for name in ODD {
        let mut client = connect(&gateway, name).await;
        let seq = client.send(crate::support::beats([beat(100, client.now())])).await;
        client.acked(seq).await;
        let reward = client.reward().await;
        let id = format!("first:{}:{}", client.welcome()["today"].as_str().expect("a day"), in_id(name));
        assert_eq!(reward["id"], json!(id));
        let http = gateway.anonymous_http().bearer(&token(name));
        assert_eq!(http.get("/v1/rewards/today").await.json()["rewards"][0]["id"], json!(id));
    }
    until("all events", async || gateway.event_log().await.len() == ODD.len()).await;
    for event in gateway.event_log().await {
        let event = &event["event"];
        let name = event["data"]["sub"].as_str().expect("a name");
        assert!(ODD.contains(&name), "{event}");
        assert_eq!((&event["subject"], &event["partitionkey"]), (&json!(name), &json!(name)));
        assert!(event["id"].as_str().expect("an id").ends_with(&format!(":{}", in_id(name))), "{event}");
        assert!(event["data"]["mid"].is_string(), "{event}");
    }
}

#[tokio::test]
async fn an_erasure_drops_the_name_and_keeps_late_beats_out() {
    let mut gateway = TestGateway::with(&[NAMES]);
    let mut client = connect(&gateway, "ann").await;
    let mid = client.welcome()["mid"].as_str().expect("a number").to_owned();
    let before = client.now();
    client.watch([beat(100, before)]).await;
    assert_eq!(gateway.control().post("/v1/erase", &json!({"sub": "ann"})).await.status, 204);
    assert_eq!(export(&gateway, &format!("mid={mid}")).await.get("sub"), None, "the text is gone");
    for _ in 0..2 {
        let page = export(&gateway, "sub=ann").await;
        assert_eq!((&page["mid"], &page["records"]), (&json!(mid), &json!([])), "the name keeps its number");
        gateway.restart();
    }
    let mut client = connect(&gateway, "ann").await;
    assert_eq!(client.welcome()["mid"], json!(mid));
    assert!(!reasons(&client.beats([beat(100, before)]).await).is_empty(), "a late beat came back");
    assert_eq!(export(&gateway, &format!("mid={mid}")).await["sub"], "ann", "welcomed, it is there again");
}

/// Who must not come in, or is sent away, is not written down again.
#[tokio::test]
async fn a_refused_user_and_calls_of_operators_leave_a_dropped_name_dropped() {
    let gateway = TestGateway::with(&[NAMES]);
    let client = connect(&gateway, "ann").await;
    let query = format!("mid={}", client.welcome()["mid"].as_str().expect("a number"));
    let control = gateway.control();
    for path in ["/v1/revoke", "/v1/erase", "/v1/kick"] {
        assert_eq!(control.post(path, &json!({"sub": "ann"})).await.status, 204, "{path}");
    }
    assert_eq!(gateway.upgrade().bearer(&token("ann")).refused().await.status, 403);
    let http = gateway.anonymous_http().bearer(&token("ann"));
    assert_eq!(http.post("/v1/beats", &json!({"items": []})).await.status, 403);
    assert_eq!(export(&gateway, &query).await.get("sub"), None);
}

/// A socket that outlives the erasure of its user.
#[tokio::test]
async fn a_beat_that_is_stored_after_an_erasure_writes_the_name_again() {
    let gateway = TestGateway::with(&[NAMES]);
    let mut client = connect(&gateway, "ann").await;
    let query = format!("mid={}", client.welcome()["mid"].as_str().expect("a number"));
    client.watch([beat(100, client.now())]).await;
    assert_eq!(gateway.control().post("/v1/erase", &json!({"sub": "ann"})).await.status, 204);
    client.wait_for("cleared", |frame| frame["push"]["cleared"] == true).await;
    assert_eq!(export(&gateway, &query).await.get("sub"), None);
    client.watch([beat(100, client.now() + 1).pos(20_000)]).await;
    until("the name", async || export(&gateway, &query).await["sub"] == "ann").await;
}

#[tokio::test]
async fn keys_of_counters_have_the_name() {
    let derived = r#"[{ id = "watching", key = ["kind", "mid"] }]"#;
    let gateway = TestGateway::embedded(&[NAMES, ("counters.derived", derived)]);
    let longest = "ü".repeat(128);
    let names: Vec<&str> = ODD.into_iter().chain([longest.as_str()]).collect();
    for name in &names {
        let mut client = connect(&gateway, name).await;
        let at = client.now();
        client.play(None, [beat(100, at), beat(101, at)]).await;
    }
    let control = gateway.control();
    let get = async |path: &str| control.get(&format!("/v1/counters/watching{path}")).await;
    until("it is counted", async || get("?key=1&key=ann").await.status == 200).await;
    for name in &names {
        assert_eq!(get(&format!("?key=1&key={}", encoded(name))).await.json()["value"], 2, "{name:?}");
    }
    let keys: Vec<_> = names.iter().chain(&["1", "unseen"]).map(|name| json!(["1", name])).collect();
    let values = control.post("/v1/counters/watching/get", &json!({"keys": keys})).await.json();
    let expected = [vec![2; names.len()], vec![0, 0]].concat();
    assert_eq!(values["values"], json!(expected), "a number is no name");
    let top = get("/top?key=1").await.json();
    let mut told: Vec<_> = top["top"].as_array().expect("a list").iter().map(|one| one["key"].clone()).collect();
    let mut expected = keys[..names.len()].to_vec();
    told.sort_by_key(Value::to_string);
    expected.sort_by_key(Value::to_string);
    assert_eq!(told, expected);
    assert_eq!(get("/top?key=1&key=ann").await.json()["top"], json!([{"key": ["1", "ann"], "value": 2}]));
    let wrong = get("?key=1&key=a%0Ab").await;
    assert_eq!(wrong.problem(400, "invalid")["detail"], "key[1]: must not contain control characters");
    let job = control.post("/v1/counters/watching/recount", &json!({"keys": [["1", "ann"]]})).await;
    let job: Value = serde_json::from_str(job.text()).expect("an answer");
    let job = format!("/v1/jobs/{}", job["job"].as_str().expect("a job"));
    until("the recount", async || control.get(&job).await.json()["state"] == "done").await;
    assert_eq!(control.get(&job).await.json()["differences"], json!([]));
    assert_eq!(control.post("/v1/erase", &json!({"sub": "ann"})).await.status, 204);
    until("ann to be counted no more", async || get("?key=1&key=ann").await.json()["value"] == 0).await;
}

#[tokio::test]
async fn a_filter_goes_by_name() {
    let gateway = TestGateway::embedded(&[NAMES, RULES, ("subscribers.allow_http", "true")]);
    let control = gateway.control();
    // Nothing is delivered: its queue is looked at.
    let definition = json!({
        "url": "http://127.0.0.1:1/", "types": ["dev.heartline.reward.v1", "dev.heartline.forgotten.v1"],
        "filter": {"mids": ["ann", "auth0|640503a5e7c1"]},
    });
    let put = control.put("/v1/subscribers/of-ann", &definition).await;
    let made: Value = serde_json::from_str(put.text()).expect("an answer");
    assert_eq!((put.status, &made["filter"]), (201, &definition["filter"]));
    assert_eq!(control.post("/v1/subscribers/of-ann/pause", &json!({})).await.status, 200);
    let subscriber = async || control.get("/v1/subscribers/of-ann").await.json();
    for name in ["Ann", "ann", "ben"] {
        let mut client = connect(&gateway, name).await;
        client.watch([beat(100, client.now())]).await;
    }
    until("all events", async || gateway.event_log().await.len() == 3).await;
    until("ann's reward", async || subscriber().await["depth"] == 1).await;
    assert_eq!(control.get("/v1/subscribers").await.json()["subscribers"][0]["filter"], definition["filter"]);
    // The event of an erasure has no name any more, and is for the same subscriber.
    assert_eq!(control.post("/v1/erase", &json!({"sub": "ann"})).await.status, 204);
    until("ann's erasure", async || subscriber().await["depth"] == 2).await;
    let shown = subscriber().await["filter"]["mids"].clone();
    assert!(
        shown[0].as_str().expect("a text").parse::<u64>().is_ok(),
        "a dropped name is shown as its number: {shown}"
    );
    let mut wrong = definition.clone();
    wrong["filter"]["mids"] = json!([42]);
    let refused = control.put("/v1/subscribers/of-ann", &wrong).await;
    assert!(refused.problem(400, "invalid")["detail"].as_str().expect("a text").starts_with("filter.mids[0]: "));
}

/// Names are of users: nothing of them is in a log.
#[tokio::test]
async fn a_name_is_in_no_log() {
    let gateway = TestGateway::with(&[NAMES, RULES, ("log.level", "debug")]);
    const NAME: &str = "somebody@example.com";
    let mut client = connect(&gateway, NAME).await;
    client.watch([beat(100, client.now())]).await;
    let http = gateway.anonymous_http().bearer(&token(NAME));
    http.get("/v1/history").await;
    export(&gateway, &format!("sub={}", encoded(NAME))).await;
    for path in ["/v1/revoke", "/v1/kick", "/v1/erase"] {
        gateway.control().post(path, &json!({"sub": NAME})).await;
    }
    let log = gateway.log();
    let logged = log.lines().filter(|line| line.contains("example.com") || line.contains(&encoded(NAME)));
    assert_eq!(logged.collect::<Vec<_>>(), [] as [&str; 0]);
    let erased = log.lines().find(|line| line.contains("/v1/erase")).expect("a line of the call");
    assert!(erased.contains("user"), "{erased}");
}

#[tokio::test]
async fn the_way_of_naming_is_fixed_with_the_store() {
    for (first, then) in [("any", "number"), ("number", "any")] {
        let gateway = TestGateway::embedded(&[("auth.subjects", first)]);
        let mut client = connect(&gateway, "42").await;
        client.watch([beat(100, client.now())]).await;
        let mut gateway = gateway;
        gateway.kill();
        let directory = gateway.data_dir();
        let settings = [("auth.subjects", then), ("store.data_dir", directory.to_str().expect("ASCII"))];
        let refused = run(&["serve"], &settings);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(78), "{said}");
        assert!(said.contains(&format!("auth.subjects: is \"{then}\", and was \"{first}\"")), "{said}");
    }
}

/// Whichever gateway a user connects to, the name has one number, and an erasure on one is known to the other.
#[tokio::test]
#[ignore = "needs Redis: tests/run gateway-redis"]
async fn two_gateways_know_the_same_names() {
    let one = TestGateway::shared(&[NAMES]);
    let other = one.neighbour();
    for name in ODD {
        let (mut here, mut there) = (connect(&one, name).await, connect(&other, name).await);
        assert_eq!((&here.welcome()["mid"], &here.welcome()["sub"]), (&there.welcome()["mid"], &json!(name)));
        here.watch([beat(100, here.now())]).await;
        assert_eq!(there.position(100).await, Some(10_000));
    }
    let mut ann = connect(&other, "ann").await;
    let query = format!("mid={}", ann.welcome()["mid"].as_str().expect("a number"));
    assert_eq!(one.control().post("/v1/erase", &json!({"sub": "ann"})).await.status, 204);
    ann.wait_for("cleared", |frame| frame["push"]["cleared"] == true).await;
    for gateway in [&one, &other] {
        until("the name to be gone", async || export(gateway, &query).await.get("sub").is_none()).await;
    }
    ann.watch([beat(100, ann.now() + 1).pos(20_000)]).await;
    for gateway in [&one, &other] {
        until("the name", async || export(gateway, &query).await["sub"] == "ann").await;
    }
    let refused = one.try_neighbour("all", &[("auth.subjects", "number")], &[]).err().expect("refused");
    assert!(refused.stderr.contains("auth.subjects: is \"number\", and "), "{}", refused.stderr);
}
