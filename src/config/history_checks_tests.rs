use super::super::tests::{config, good};
use storage::config::cassandra::{Consistency, Replication};
use storage::history_store::config::Backend;

const ON_REDIS: &str = "[store]\nhot_store = \"redis\"\n";

/// Checks that this section has one problem, which names the setting and this word.
fn refused(section: &str, setting: &str, word: &str) {
    let file = format!("{ON_REDIS}[cassandra]\n{section}");
    let problems = config(&file, &[]).expect_err(section);
    assert!(
        problems.len() == 1 && problems[0].contains(setting) && problems[0].contains(word),
        "{section}: {problems:?}"
    );
}

fn replication(text: &str) -> Replication {
    good("", &[("HEARTLINE__CASSANDRA__REPLICATION", text)]).cassandra.replication
}

#[test]
fn the_history_store_is_off_by_default() {
    let config = good("", &[]);
    assert_eq!((config.history.store, config.cassandra.replication), (Backend::None, Replication::Each(3)));
    assert_eq!(config.cassandra.consistency, Consistency::LocalQuorum);
}

#[test]
fn the_numbers_of_the_history_have_bounds() {
    let of = |section: &str| config(&format!("[history]\n{section}"), &[]).expect_err(section).remove(0);
    for (section, word) in [
        ("interval = \"99ms\"", "history.interval: must be 100ms to 1h"),
        ("interval = \"61m\"", "history.interval: must be 100ms to 1h"),
        ("pack_bytes = 1023", "history.pack_bytes: must be 1024 to 1048576"),
        ("pack_bytes = 1048577", "history.pack_bytes: must be 1024 to 1048576"),
        ("hot_max = 1", "history.hot_max: must be 2 to 1000000"),
        ("hot_keep = 0", "history.hot_keep: must be 1 to history.hot_max (1250)"),
        ("hot_keep = 1251", "history.hot_keep: must be 1 to history.hot_max (1250)"),
        ("hot_idle = \"999ms\"", "history.hot_idle: must be 1s to 3650d, or 0s for never"),
        ("trim = \"yes\"", "history.trim: expected \"off\", \"shadow\" or \"on\""),
    ] {
        assert!(of(section).contains(word), "{section}: {}", of(section));
    }
}

#[test]
fn a_history_store_needs_redis_and_a_node() {
    let on = "[history]\nstore = \"cassandra\"\n[cassandra]\nnodes = [\"a:9042\"]";
    assert_eq!(good(&format!("{ON_REDIS}{on}"), &[]).history.store, Backend::Cassandra);
    let embedded = config(on, &[]).expect_err("embedded");
    assert!(embedded.len() == 1 && embedded[0].contains("history.store: needs store.hot_store"), "{embedded:?}");
    refused("[history]\nstore = \"cassandra\"", "cassandra.nodes: ", "is empty");
    refused(
        "nodes = [\"a:9042\"]\n[history]\nstore = \"cassandra\"\n[kafka]\nbrokers = []",
        "kafka.brokers: ",
        "is empty, but history.store",
    );
    refused("[history]\nstore = \"hbase\"", "history.store: ", "expected \"none\" or \"cassandra\"");
    refused("nodes = [\"a:9042\", \"b\"]", "cassandra.nodes[1]: ", "expected HOST:PORT");
}

#[test]
fn copies_are_a_number_or_a_table_of_data_centers() {
    let table = |copies: &[(&str, u64)]| {
        Replication::ByDataCenter(copies.iter().map(|(name, copies)| ((*name).to_owned(), *copies)).collect())
    };
    assert_eq!(replication("1"), Replication::Each(1));
    assert_eq!(replication("{ dc1 = 3, \"eu-west.1\" = 2 }"), table(&[("dc1", 3), ("eu-west.1", 2)]));
    let file = "[cassandra]\nreplication = { dc1 = 1 }";
    assert_eq!(good(file, &[]).cassandra.replication, table(&[("dc1", 1)]));
    assert_eq!(good("[cassandra.replication]\ndc1 = 1", &[]).cassandra.replication, table(&[("dc1", 1)]));
    for (value, word) in [
        ("0", "must be 1 to 100"),
        ("101", "must be 1 to 100"),
        ("-1", "expected a whole number, or a table"),
        ("\"3\"", "expected a whole number, or a table"),
        ("[3]", "expected a whole number, or a table"),
        ("{}", "names no data center"),
        ("{ dc1 = 0 }", "dc1: must be 1 to 100"),
        ("{ dc1 = 3, dc2 = \"3\" }", "dc2: expected a whole number, got \"3\""),
        ("{ dc1 = -3 }", "expected a whole number"),
        ("{ \"dc'1\" = 3 }", "no name of a data center"),
    ] {
        refused(&format!("replication = {value}"), "cassandra.replication: ", word);
    }
}

#[test]
fn a_keyspace_has_a_name_that_needs_no_quotes() {
    for name in ["heartline", "a", "a_1", &"x".repeat(48)] {
        assert_eq!(good(&format!("[cassandra]\nkeyspace = \"{name}\""), &[]).cassandra.keyspace, name);
    }
    for name in ["", "A", "1a", "_a", "a-b", "a b", "ü", &"x".repeat(49)] {
        refused(&format!("keyspace = \"{name}\""), "cassandra.keyspace: ", "cannot be used");
    }
}

#[test]
fn only_consistencies_whose_reads_see_all_writes_are_accepted() {
    for (word, consistency) in
        [("local_quorum", Consistency::LocalQuorum), ("quorum", Consistency::Quorum), ("all", Consistency::All)]
    {
        let file = format!("[cassandra]\nconsistency = \"{word}\"");
        assert_eq!(good(&file, &[]).cassandra.consistency, consistency);
    }
    refused("consistency = \"one\"", "cassandra.consistency: ", "expected \"local_quorum\", \"quorum\" or \"all\"");
}

#[test]
fn a_user_and_a_password_need_each_other_and_the_password_is_not_shown() {
    refused("user = \"u\"", "cassandra.password: ", "is empty");
    refused("password = \"p\"", "cassandra.user: ", "is empty");
    let config = good("[cassandra]\nuser = \"u\"\npassword = \"hunter2\"", &[]);
    assert!(!format!("{config:?}").contains("hunter2"));
}
