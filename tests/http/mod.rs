//! The public listener over a store in memory that answers at once or never.

mod clock_guard;
mod faults;
mod faulty;
mod fixture;
mod memory;
mod sockets;
mod visitors;

use crate::backends::plain_user;
use crate::support::country_file;

use std::time::Duration;

use serde_json::json;

use fixture::{Answer, Fixture};

const PATHS: [&str; 6] =
    ["/v1/beats", "/v1/history", "/v1/history/get", "/v1/history/1/100", "/v1/recording", "/v1/nowhere"];

fn beat(fixture: &Fixture, oid: u64, age_ms: u64, state: &str) -> serde_json::Value {
    let at = fixture.now() - age_ms;
    json!({"kind": 1, "oid": oid.to_string(), "pos": 60_000, "dur": 100_000, "state": state, "session": "7",
           "watched": 5_000, "at": at})
}

#[tokio::test]
async fn beats_are_answered_after_their_commit_and_read_back() {
    let fixture = Fixture::new();
    let items = json!([beat(&fixture, 100, 2, "playing"), beat(&fixture, 100, 1, "paused")]);
    let answer = fixture.post("/v1/beats", &json!({"device": "tv", "items": items})).await;
    let body = answer.json();
    assert_eq!(body["rejected"], json!([]));
    assert!(body["now"].is_u64() && body["today"].is_string());
    assert!(body.get("flag").is_none());
    assert_eq!(body["rewards"], json!([]));

    let record = fixture.get("/v1/history/1/100").await.json();
    assert_eq!((&record["state"], &record["device"]), (&json!("paused"), &json!("tv")));
    let asked = json!({"items": [{"kind": 1, "oid": "5"}, {"kind": 1, "oid": "100"}]});
    let records = fixture.post("/v1/history/get", &asked).await.json();
    assert_eq!(records["records"], json!([null, record]));
    let page = fixture.get("/v1/history?limit=1&kinds=1,3").await.json();
    assert_eq!(page, json!({"records": [record]}));
}

#[tokio::test]
async fn rejections_come_in_the_order_of_the_beats() {
    let fixture = Fixture::new();
    fixture.post("/v1/beats", &json!({"items": [beat(&fixture, 100, 10, "playing")]})).await.json();
    let mut late = beat(&fixture, 100, 1_000, "playing");
    late["session"] = json!("8");
    let mut ahead = beat(&fixture, 200, 0, "playing");
    ahead["at"] = json!(fixture.now() + 60_000);
    let items = json!([late, ahead, beat(&fixture, 300, 1, "playing"), late]);
    let body = fixture.post("/v1/beats", &json!({"items": items})).await.json();
    let rejected = body["rejected"].as_array().expect("a list");
    let told: Vec<_> = rejected.iter().map(|each| (each["index"].clone(), each["reason"].clone())).collect();
    assert_eq!(told, [(json!(0), json!("superseded")), (json!(1), json!("clock"))]);
    assert_eq!(rejected[0]["record"]["oid"], "100");
    assert!(rejected[0].get("seq").is_none() && rejected[1].get("record").is_none());
}

#[tokio::test]
async fn deletes_and_clears_are_done_when_answered() {
    let fixture = Fixture::new();
    let items = json!([beat(&fixture, 100, 1, "playing"), beat(&fixture, 200, 1, "playing")]);
    fixture.post("/v1/beats", &json!({"items": items})).await.json();
    assert_eq!(fixture.delete("/v1/history/1/100").await.status, 204);
    fixture.get("/v1/history/1/100").await.problem(404, "not_found");
    assert_eq!(fixture.delete("/v1/history/1/100").await.status, 204);
    let ahead = fixture.now() + 60_000;
    let answer = fixture.delete(&format!("/v1/history?at={ahead}")).await;
    assert!(answer.problem(400, "invalid")["detail"].as_str().is_some_and(|detail| detail.starts_with("at: ")));
    assert_eq!(fixture.delete("/v1/history").await.status, 204);
    assert_eq!(fixture.get("/v1/history").await.json(), json!({"records": []}));
}

#[tokio::test]
async fn recording_is_answered_with_the_state_after_it() {
    let fixture = Fixture::new();
    assert_eq!(fixture.get("/v1/recording").await.json(), json!({"paused": false}));
    assert_eq!(fixture.put("/v1/recording", &json!({"paused": true})).await.json(), json!({"paused": true}));
    let older = json!({"paused": false, "at": 5});
    assert_eq!(fixture.put("/v1/recording", &older).await.json(), json!({"paused": true}));
    assert_eq!(fixture.get("/v1/recording").await.json(), json!({"paused": true}));
}

#[tokio::test(start_paused = true)]
async fn without_an_answer_of_the_store_requests_are_unavailable() {
    let fixture = Fixture::with_dead_store();
    let item = beat(&fixture, 100, 1, "playing");
    let answers: [Answer; 4] = [
        fixture.post("/v1/beats", &json!({"items": [item]})).await,
        fixture.delete("/v1/history").await,
        fixture.get("/v1/history").await,
        fixture.put("/v1/recording", &json!({"paused": true})).await,
    ];
    for answer in answers {
        answer.problem(503, "unavailable");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
}

#[tokio::test]
async fn no_request_is_served_without_a_good_token() {
    let fixture = Fixture::new();
    for authorization in [None, Some("Bearer no-token"), Some("Basic NDI6NDI="), Some("Bearer ")] {
        let request = http::Request::get("/v1/history");
        let request = match authorization {
            Some(authorization) => request.header("authorization", authorization),
            None => request,
        };
        let answer = fixture.send(request, String::new()).await;
        answer.problem(401, "unauthorized");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
}

#[tokio::test]
async fn a_kicked_user_is_refused() {
    let fixture = Fixture::new();
    fixture.kick();
    fixture.get("/v1/history").await.problem(403, "unauthorized");
}

#[tokio::test]
async fn a_token_in_a_url_is_refused_everywhere() {
    let fixture = Fixture::new();
    for path in PATHS {
        for name in ["token", "access_token", "jwt"] {
            fixture.get(&format!("{path}?{name}=abc")).await.problem(400, "invalid");
        }
    }
}

#[tokio::test]
async fn unknown_methods_and_paths_are_problems() {
    let fixture = Fixture::new();
    fixture.get("/v1/nowhere").await.problem(404, "not_found");
    fixture.get("/v1/history/1").await.problem(404, "not_found");
    let rows = [("/v1/beats", "POST"), ("/v1/history/get", "POST")];
    for (path, allow) in rows {
        let answer = fixture.get(path).await;
        answer.problem(405, "method");
        assert_eq!(answer.header("allow"), Some(allow), "{path}");
    }
    let answer = fixture.post("/v1/recording", &json!({})).await;
    answer.problem(405, "method");
    assert_eq!(answer.header("allow"), Some("GET,HEAD,PUT"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn malformed_bodies_and_paths_are_problems() {
    let fixture = Fixture::new();
    for body in [json!({}), json!([]), json!({"items": 5}), json!({"items": [{}]})] {
        fixture.post("/v1/beats", &body).await.problem(400, "invalid");
    }
    let many = vec![json!({"kind": 1, "oid": "1"}); Fixture::ITEMS + 1];
    fixture.post("/v1/history/get", &json!({"items": many})).await.problem(400, "too_many");
    let text = fixture.authorized(http::Request::post("/v1/beats").header("content-type", "text/plain"));
    fixture.send(text, "{}".to_owned()).await.problem(415, "media_type");
    let long = json!({"items": [], "device": "x".repeat(Fixture::BODY_BYTES)});
    fixture.post("/v1/beats", &long).await.problem(413, "too_large");
    for path in ["/v1/history/x/1", "/v1/history/70000/1", "/v1/history/1/-1", "/v1/history/%ff/1"] {
        fixture.get(path).await.problem(400, "invalid");
    }
    fixture.get("/v1/history?limit=0").await.problem(400, "invalid");
}

#[tokio::test]
async fn a_user_above_the_request_rate_gets_429_with_retry_after() {
    let fixture = Fixture::new();
    let mut served = 0;
    let slowed = loop {
        match fixture.get("/v1/recording").await {
            answer if answer.status == 200 => served += 1,
            answer => break answer,
        }
        assert!(served < 10 * Fixture::BURST, "no request is refused");
    };
    assert!(served >= Fixture::BURST, "{served} of a burst");
    slowed.problem(429, "too_fast");
    assert_eq!(slowed.header("retry-after"), Some("1"));
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(fixture.get("/v1/recording").await.status, 200);
}

#[tokio::test]
async fn lists_above_the_rate_of_rows_get_429() {
    let fixture = Fixture::new();
    let items: Vec<_> = (0..Fixture::LIST_ROWS).map(|oid| beat(&fixture, oid.into(), 1, "playing")).collect();
    fixture.post("/v1/beats", &json!({"items": items})).await.json();
    // A burst of rows, and one list more. What a busy machine takes longer for than its rows cost is not slowed down.
    let mut served = 0;
    let slowed = loop {
        match fixture.get("/v1/history?limit=1").await {
            answer if answer.status == 200 => served += 1,
            answer => break answer,
        }
        assert!(served < 100, "no list is slowed down");
    };
    assert!(served >= 2, "{served} served");
    slowed.problem(429, "too_fast");
    assert_eq!(slowed.header("retry-after"), Some("1"));
    assert_eq!(fixture.get("/v1/history/1/1").await.status, 200);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(fixture.get("/v1/history?limit=1").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_user_has_one_list_at_a_time() {
    let fixture = Fixture::with_dead_store();
    let first = fixture.get("/v1/history");
    let second = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        fixture.get("/v1/history").await
    };
    let (first, second) = futures_util::future::join(first, second).await;
    first.problem(503, "unavailable");
    second.problem(429, "too_fast");
    assert_eq!(second.header("retry-after"), Some("1"));
}

#[tokio::test]
async fn allowed_origins_may_read_every_answer_and_others_none() {
    let fixture = Fixture::new();
    for path in PATHS {
        let request = http::Request::get(path).header("origin", Fixture::ORIGIN);
        let answer = fixture.send(request, String::new()).await;
        assert_eq!(answer.header("access-control-allow-origin"), Some(Fixture::ORIGIN), "{path}");
        assert_eq!(answer.header("access-control-expose-headers"), Some("Retry-After"));
        assert_eq!(answer.header("vary"), Some("Origin"));
    }
    let request = fixture.authorized(http::Request::get("/v1/history").header("origin", "https://evil.example"));
    let answer = fixture.send(request, String::new()).await;
    answer.problem(403, "unauthorized");
    assert_eq!(answer.header("access-control-allow-origin"), None);
    assert_eq!(answer.header("vary"), Some("Origin"));
    assert_eq!(fixture.get("/v1/history").await.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn a_preflight_is_answered_without_a_token() {
    let fixture = Fixture::new();
    let preflight = |origin| {
        let request = http::Request::options("/v1/beats").header("origin", origin);
        let request = request.header("access-control-request-headers", "authorization,content-type");
        fixture.send(request.header("access-control-request-method", "POST"), String::new())
    };
    let answer = preflight(Fixture::ORIGIN).await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), Some(Fixture::ORIGIN));
    assert_eq!(answer.header("access-control-allow-headers"), Some("Authorization, Content-Type"));
    assert_eq!(answer.header("access-control-allow-methods"), Some("GET, POST, PUT, DELETE"));
    assert!(answer.header("access-control-max-age").is_some());
    preflight("https://evil.example").await.problem(403, "unauthorized");
}
