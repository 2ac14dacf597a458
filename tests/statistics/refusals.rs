//! What is wrong with a MongoDB is said at the start, with what mends it.

use heartline::storage_mongodb::{Metrics, MongoStatistics, Owner};
use mongodb::IndexModel;
use mongodb::bson::{Document, doc};
use mongodb::options::IndexOptions;

use crate::statistics::mongo::{DEPLOYMENT, OnMongo};
use crate::statistics::words::*;

fn has(refusal: (u8, String), words: &[&str]) {
    assert!(refusal.0 == 78 && words.iter().all(|word| refusal.1.contains(word)), "{words:?}: {refusal:?}");
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn a_database_belongs_to_the_first_deployment() {
    let database = OnMongo::new();
    drop(database.opened().unwrap());
    drop(database.opened().unwrap());
    let refused = MongoStatistics::open(&database.settings, "0000", Metrics::default()).map(drop).unwrap_err();
    let words = ["statistics.database: test-", "belongs to the deployment", DEPLOYMENT, "the hot store to \"0000\""];
    has((refused.exit_code(), refused.to_string()), &words);
    let found = database.look(async |database| database.collection::<Document>("meta").find_one(doc! {}).await);
    assert_eq!(found, Some(doc! { "_id": "deployment", "deployment": DEPLOYMENT, "format": 1 }));
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn a_database_is_handed_over_to_the_deployment_after_a_loss() {
    let database = OnMongo::new();
    let owner = || wait(Owner::read(&database.settings)).expect("it answers");
    assert_eq!(owner(), Owner::default());
    let store = database.open();
    write(&store, &flight(1, &[counter(3, "all", &[], 5), counter(12, "all", &[], 5), views(1, 7)]));
    assert_eq!(owner(), Owner { deployment: Some(DEPLOYMENT.to_owned()), generations: vec![3, 12] });
    for _ in 0..2 {
        wait(Owner::hand_over(&database.settings, "0000")).expect("it answers");
    }
    let next = MongoStatistics::open(&database.settings, "0000", Metrics::default()).expect("it owns the database");
    assert_eq!(totals(&next, &[1]), [7]);
    has(database.refusal(), &["belongs to the deployment \"0000\""]);
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn settings_that_cannot_be_meant_are_refused() {
    let mut database = OnMongo::new();
    database.settings.database = "admin".to_owned();
    has(database.refusal(), &["statistics.database: \"admin\" cannot be used"]);
    has(OnMongo::at("mongodb+srv://cluster0.example.net").refusal(), &["statistics.url", "is not supported"]);
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn another_format_is_refused() {
    let database = OnMongo::new();
    let newer = doc! { "_id": "deployment", "deployment": DEPLOYMENT, "format": 2 };
    database.look(async |database| database.collection::<Document>("meta").insert_one(newer).await);
    has(database.refusal(), &["statistics.database: test-", "has the format 2, and this version reads 1"]);
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn an_index_that_would_refuse_documents_is_refused() {
    let database = OnMongo::new();
    write(&database.open(), &flight(1, &[views(1, 1), views_on(1, "2026-11-22", 1)]));
    let index = |field: &str, unique: bool| {
        let model = IndexModel::builder().keys(doc! { field: 1 });
        let model = model.options(IndexOptions::builder().unique(unique).build()).build();
        database.look(async |database| database.collection::<Document>("views").create_index(model).await)
    };
    index("total", false);
    drop(database.open());
    let name = index("s", true).index_name;
    has(database.refusal(), &[&format!("statistics.database: the index {name} of the collection views is unique")]);
    database.look(async |database| database.collection::<Document>("views").drop_index("s_1").await);
    drop(database.open());
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn a_document_of_another_program_is_named() {
    let database = OnMongo::new();
    let store = database.open();
    let foreign = doc! { "_id": "1:1", "total": "many", "s": {} };
    database.look(async |database| database.collection::<Document>("views").insert_one(foreign).await);
    let refused = wait(heartline::storage::statistics::Statistics::totals(&store, ALL, vec![content(1)])).unwrap_err();
    assert_eq!(refused.0, "document \"1:1\" of the collection views has no usable total");
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn documents_are_as_they_are_documented() {
    let database = OnMongo::new();
    let [on, later] = ["2026-11-09", "2026-11-22"].map(|on| views_on(100, on, 2));
    write(&database.open(), &flight(7, &[views(100, 4), on, later, counter(3, "viewers", &["1", "100"], 17)]));
    let find = |collection: &'static str| {
        database.look(async |database| database.collection::<Document>(collection).find_one(doc! {}).await).unwrap()
    };
    assert_eq!(find("views"), doc! { "_id": "1:100", "s": { "0": 7_i64 }, "total": 4_i64 });
    let days = doc! { "09": 2_i64, "22": 2_i64 };
    assert_eq!(find("view_days"), doc! { "_id": "1:100:2026-11", "s": { "0": 7_i64 }, "days": days });
    let viewers = doc! { "_id": "3:viewers:1!100", "s": { "0": 7_i64 }, "n": 17_i64, "c": "3:viewers", "k": "1!100" };
    assert_eq!(find("counters"), viewers);
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn the_largest_numbers_have_an_index_from_the_start_on() {
    let database = OnMongo::new();
    let names = || {
        let mut names =
            database.look(async |database| database.collection::<Document>("counters").list_index_names().await);
        names.sort();
        names
    };
    for _ in 0..2 {
        drop(database.open());
        assert_eq!(names(), ["_id_", "c_1_n_-1_k_1"]);
    }
    write(&database.open(), &flight(1, &[counter(3, "viewers", &["1"], 1)]));
    database.look(async |database| database.collection::<Document>("counters").drop_index("c_1_n_-1_k_1").await);
    assert_eq!(names(), ["_id_"]);
    assert_eq!(counted(&database.open(), 3, "viewers", &[&["1"]]), [1]);
    assert_eq!(names(), ["_id_", "c_1_n_-1_k_1"]);
}
