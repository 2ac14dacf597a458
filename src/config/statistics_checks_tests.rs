use std::time::Duration;

use super::super::tests::{config, good};
use storage::statistics::config::Backend;
use storage_mongodb::MongoConfig;

const ON_REDIS: &str = "[store]\nhot_store = \"redis\"\n";
const IN_MONGODB: &str = "[statistics]\nstore = \"mongodb\"\nurl = \"mongodb://a:27017\"\n";

/// The one thing that is wrong with this file, without the file's name.
fn refused(file: &str) -> String {
    let problems = config(file, &[]).expect_err(file);
    assert_eq!(problems.len(), 1, "{file}: {problems:?}");
    problems[0].strip_prefix("/etc/heartline.toml: ").unwrap_or(&problems[0]).to_owned()
}

fn url_refused(url: &str) -> String {
    refused(&format!("{ON_REDIS}[statistics]\nstore = \"mongodb\"\nurl = \"{url}\""))
}

#[test]
fn the_embedded_store_keeps_them_by_default() {
    let config = good("", &[]);
    assert_eq!(config.statistics.store, Backend::Embedded);
    assert_eq!((config.statistics.url.expose(), config.statistics.database.as_str()), ("", "heartline"));
    assert_eq!(config.counters.flush_interval, Duration::from_secs(2));
}

#[test]
fn mongodb_belongs_to_redis() {
    let config = good(&format!("{ON_REDIS}{IN_MONGODB}[views]\nby_request = [3, 4]"), &[]);
    assert_eq!(config.statistics.store, Backend::Mongodb);
    assert_eq!(MongoConfig::from(&config.statistics).url.expose(), "mongodb://a:27017");
    good(&format!("{ON_REDIS}{IN_MONGODB}[views]\nby_request = []"), &[]);
    let embedded = refused(IN_MONGODB);
    assert!(embedded.starts_with("statistics.store: \"mongodb\" needs store.hot_store = \"redis\""), "{embedded}");
}

#[test]
fn views_that_were_asked_for_are_not_silently_off() {
    // The default is for the embedded store.
    good(ON_REDIS, &[]);
    good(&format!("{ON_REDIS}[views]\nby_request = []"), &[]);
    good("[views]\nby_request = [3]", &[]);
    let file = refused(&format!("{ON_REDIS}[views]\nby_request = [3]"));
    assert!(file.starts_with("views.by_request: with store.hot_store = \"redis\""), "{file}");
    assert!(file.contains("statistics.store = \"mongodb\"") && file.contains("views.by_request = []"), "{file}");
    let played = refused(&format!("{ON_REDIS}[views]\nby_playback = [1]"));
    assert!(played.starts_with("views.by_playback: with") && played.contains("views.by_playback = []"), "{played}");
    let problems = config(ON_REDIS, &[("HEARTLINE__VIEWS__BY_REQUEST", "[4]")]).expect_err("by the environment");
    assert!(problems.len() == 1 && problems[0].starts_with("HEARTLINE__VIEWS__BY_REQUEST: with"), "{problems:?}");
}

#[test]
fn a_url_is_there_exactly_if_it_is_used() {
    let missing = refused(&format!("{ON_REDIS}[statistics]\nstore = \"mongodb\""));
    assert!(missing.starts_with("statistics.url: is empty, but statistics.store is \"mongodb\""), "{missing}");
    for hot in ["", ON_REDIS] {
        let unused = refused(&format!("{hot}[statistics]\nurl = \"mongodb://a\""));
        assert!(unused.starts_with("statistics.url: is set, but statistics.store is \"embedded\""), "{unused}");
    }
    let unknown = refused(&format!("{ON_REDIS}[statistics]\nstore = \"mongo\"\nurl = \"mongodb://a\""));
    assert!(unknown.starts_with("statistics.store: expected \"embedded\" or \"mongodb\", got \"mongo\""), "{unknown}");
}

#[test]
fn a_url_that_is_none_is_refused_without_its_password() {
    let by_dns = url_refused("mongodb+srv://me:hunter2@cluster0.example.net");
    assert!(by_dns.starts_with("statistics.url: begins with mongodb+srv://"), "{by_dns}");
    assert!(url_refused("localhost:27017").starts_with("statistics.url: is not mongodb://"));
    assert!(url_refused("mongodb://a/?jornal=true").contains("\"jornal\""));
    for url in ["mongodb://me:hunter2", "http://me:hunter2@a", "mongodb://me:hunter2@a/?tls=yes"] {
        assert!(!url_refused(url).contains("hunter2"), "{}", url_refused(url));
    }
}

#[test]
fn a_database_has_a_name_that_mongodb_takes() {
    good("[statistics]\ndatabase = \"heartline-2\"", &[]);
    for name in ["", "a.b", "a b", "admin", "local"] {
        let refused = refused(&format!("[statistics]\ndatabase = \"{name}\""));
        assert!(refused.starts_with("statistics.database: ") && refused.contains("cannot be used"), "{refused}");
    }
}

#[test]
fn flights_begin_neither_all_the_time_nor_too_rarely() {
    for interval in ["100ms", "60s"] {
        good(&format!("[counters]\nflush_interval = \"{interval}\""), &[]);
    }
    for interval in ["99ms", "61s"] {
        let refused = refused(&format!("[counters]\nflush_interval = \"{interval}\""));
        assert_eq!(refused, "counters.flush_interval: must be 100ms to 1m");
    }
}
