//! One gateway answers as on the embedded store.

use serde_json::json;

use crate::carried_views::pages::*;
use crate::carried_views::support::MID;

#[tokio::test]
#[ignore = "needs Redis and MongoDB's protocol: tests/run statistics"]
async fn a_view_is_counted_once_and_comes_to_its_day() {
    let mut gateway = gateway(&database_at(&shared()));
    assert_eq!(view(&gateway, 100, 7).await, json!({"views": 1, "counted": true}));
    assert_eq!(view(&gateway, 100, 7).await, json!({"views": 1, "counted": false}));
    assert_eq!(view(&gateway, 100, 8).await, json!({"views": 2, "counted": true}));
    assert_eq!(totals(&gateway, &[101, 100, 100]).await, json!({"views": [0, 2, 2]}));
    wait_for_days(&gateway, 100, 2).await;
    assert_eq!(days(&gateway, 101).await, Some((0, 0)));

    let today = gateway.http(MID).get("/v1/rewards/today").await.json()["day"].clone();
    let today = today.as_str().expect("a day");
    let path = "/v1/views/3/100/days";
    let rows = gateway.http(MID).get(&format!("{path}?from={today}&to={today}")).await.json();
    assert_eq!(rows, json!({"total": 2, "days": [{"day": today, "views": 2}]}));
    let csv = gateway.http(MID).header("accept", "text/csv").get(path).await;
    assert_eq!((csv.status, csv.text()), (200, format!("day,views\n{today},2\n").as_str()));
    let before = gateway.http(MID).get(&format!("{path}?from=2020-01-01&to=2020-12-31")).await.json();
    assert_eq!(before, json!({"total": 2, "days": []}));

    let counted = r#"heartline_views_counted_total{by="request"}"#;
    for metric in ["heartline_flights_total", "heartline_flight_documents_total", counted] {
        assert!(gateway.metric(metric).await >= 1.0, "{metric}");
    }
    gateway.restart();
    assert_eq!(view(&gateway, 100, 7).await, json!({"views": 2, "counted": false}));
    assert_eq!(view(&gateway, 100, 9).await, json!({"views": 3, "counted": true}));
    wait_for_days(&gateway, 100, 3).await;
    assert_eq!(degraded(&gateway).await, [""; 0]);
}

#[tokio::test]
#[ignore = "needs Redis and MongoDB's protocol: tests/run statistics"]
async fn what_one_database_has_counts_for_a_redis_that_remembers_no_total() {
    let mut settings = database_at(&shared());
    let mut gateway = gateway(&settings);
    for session in 0..3 {
        view(&gateway, 100, session).await;
    }
    wait_for_days(&gateway, 100, 3).await;
    // Totals that Redis remembers are forgotten when other kinds are counted.
    settings.push(("views.by_request".to_owned(), "[3, 4]".to_owned()));
    gateway.restart_with(&borrowed(&settings));
    assert_eq!(totals(&gateway, &[100]).await, json!({"views": [3]}));
    assert_eq!(view(&gateway, 100, 3).await, json!({"views": 4, "counted": true}));
    gateway.http(MID).post("/v1/views/5/100", &json!({})).await.problem(404, "not_found");
}

#[tokio::test]
#[ignore = "needs Redis and MongoDB's protocol: tests/run statistics"]
async fn an_operator_deletes_total_and_days() {
    let mut gateway = gateway(&database_at(&shared()));
    for oid in [100, 101] {
        view(&gateway, oid, 1).await;
    }
    wait_for_days(&gateway, 100, 1).await;
    view(&gateway, 100, 2).await;
    assert_eq!(delete(&gateway, 100).await, 204);
    assert_eq!(days(&gateway, 100).await, Some((0, 0)));
    assert_eq!(totals(&gateway, &[100, 101]).await, json!({"views": [0, 1]}));
    gateway.restart();
    assert_eq!(totals(&gateway, &[100, 101]).await, json!({"views": [0, 1]}));
    assert_eq!(view(&gateway, 100, 2).await, json!({"views": 0, "counted": false}), "its session stays marked");
    assert_eq!(view(&gateway, 100, 3).await, json!({"views": 1, "counted": true}));
    wait_for_days(&gateway, 100, 1).await;
    assert_eq!(delete(&gateway, 5).await, 204, "nothing was known");
}

#[tokio::test]
#[ignore = "needs Redis and MongoDB's protocol: tests/run statistics"]
async fn an_erased_user_leaves_the_views() {
    let gateway = gateway(&database_at(&shared()));
    view(&gateway, 100, 7).await;
    let erased = gateway.control().post("/v1/erase", &json!({"mid": MID.to_string()})).await;
    assert_eq!(erased.status, 204, "{}", erased.text());
    assert_eq!(totals(&gateway, &[100]).await, json!({"views": [1]}));
    assert_eq!(view(&gateway, 100, 7).await, json!({"views": 2, "counted": true}), "no mark of the user is left");
}
