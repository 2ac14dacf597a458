//! A MongoDB that is away or stands still, at the start and later.

use heartline::model::secret::Secret;
use heartline::storage::statistics::{CounterStatistics, StatisticsAway};
use heartline::storage_mongodb::{Metrics, MongoStatistics};

use crate::statistics::mongo::OnMongo;
use crate::statistics::mongo_server::MongoServer;
use crate::statistics::words::*;

/// Each call is refused; what is said of the write.
fn refused(store: &impl CounterStatistics) -> String {
    let on = day("2026-11-22");
    let away = |refused: StatisticsAway| {
        assert!(refused.to_string().starts_with("statistics store unavailable: "), "{refused}");
        refused.0
    };
    wait(store.totals(ALL, vec![content(1)])).map_err(away).unwrap_err();
    wait(store.days(content(1), on, on)).map_err(away).unwrap_err();
    wait(store.counter_values(3, "all".parse().unwrap(), vec![key(&[])])).map_err(away).unwrap_err();
    wait(store.write(flight(99, &[views(1, 1)]))).map_err(away).unwrap_err()
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn it_may_be_away_at_the_start_and_be_there_later() {
    let mut server = MongoServer::start();
    let database = OnMongo::at(&server.url());
    server.kill();
    let store = database.opened().unwrap();
    refused(&store);
    server.start_again();
    write(&store, &flight(1, &[views(1, 3)]));
    assert_eq!(totals(&store, &[1]), [3]);
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn it_recovers_by_itself() {
    let mut server = MongoServer::start();
    let store = OnMongo::at(&server.url()).opened().unwrap();
    write(&store, &flight(1, &[views(1, 3)]));
    server.kill();
    refused(&store);
    server.start_again();
    assert_eq!(totals(&store, &[1]), [3]);
    write(&store, &flight(2, &[views(1, 1)]));
    assert_eq!(totals(&store, &[1]), [4]);
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn what_stands_still_is_given_up_and_used_again() {
    let server = MongoServer::start();
    let store = OnMongo::at(&server.url()).opened().unwrap();
    write(&store, &flight(1, &[views(1, 3)]));
    server.freeze();
    let said = refused(&store);
    server.go_on();
    assert!(!said.is_empty());
    // The flight that was given up may have been written when the server went on.
    write(&store, &flight(99, &[views(1, 1)]));
    assert_eq!(totals(&store, &[1]), [4]);
}

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn a_database_of_another_deployment_is_found_when_it_is_there() {
    let mut server = MongoServer::start();
    let database = OnMongo::at(&server.url());
    drop(database.opened().unwrap());
    server.kill();
    let other = MongoStatistics::open(&database.settings, "0000", Metrics::default()).unwrap();
    server.start_again();
    until("the deployment is compared", || refused(&other).contains("belongs to the deployment"));
    drop(other);
    let own = database.opened().unwrap();
    assert_eq!(totals(&own, &[1]), [0], "nothing was written");
}

#[test]
fn nothing_says_the_password() {
    let mut database = OnMongo::at("mongodb://me:hunter2@127.0.0.1:1/?authMechanism=SCRAM-SHA-256");
    let said = refused(&database.opened().unwrap());
    assert!(said.contains("127.0.0.1:1") && !said.contains("hunter2"), "{said}");
    database.settings.url = Secret::new("mongodb://me:hunt@hunter2@a".to_owned());
    let (code, said) = database.refusal();
    assert!(code == 78 && said.starts_with("statistics.url is not mongodb://[") && !said.contains("hunter2"), "{said}");
}
