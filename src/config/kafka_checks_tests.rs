use super::super::tests::{config, good};
use storage::config::kafka::Security;

/// The problems of this section.
fn problems(section: &str) -> Vec<String> {
    let file = if section.starts_with('[') { section.to_owned() } else { format!("[kafka]\n{section}") };
    config(&file, &[]).map_or_else(|problems| problems, |_| Vec::new())
}

fn refused(section: &str, setting: &str, word: &str) {
    let problems = problems(section);
    assert!(
        problems.len() == 1 && problems[0].contains(setting) && problems[0].contains(word),
        "{section}: {problems:?}"
    );
}

#[test]
fn brokers_are_a_list_or_one_line() {
    let of = |value| good("", &[("HEARTLINE__KAFKA__BROKERS", value)]).kafka.brokers;
    assert_eq!(of("127.0.0.1:9092"), ["127.0.0.1:9092"]);
    assert_eq!(of("a:1, b.example:65535"), ["a:1", "b.example:65535"]);
    assert_eq!(of(r#"["[::1]:9092"]"#), ["[::1]:9092"]);
    for broker in ["a", "a:", ":9092", "a:0", "a:65536", "kafka://a:1", "a b:1"] {
        refused(&format!("brokers = [\"{broker}\"]"), "kafka.brokers[0]: ", "expected HOST:PORT");
    }
}

#[test]
fn kafka_as_the_bus_needs_a_broker() {
    assert_eq!(problems("brokers = []"), [""; 0]);
    refused("brokers = []\n[events]\nevent_bus = \"kafka\"", "kafka.brokers: ", "is empty");
}

#[test]
fn a_topic_has_a_name_that_kafka_takes() {
    let topics = |key: &str, name: &str| format!("[kafka.topics]\n{key} = \"{name}\"");
    for name in ["heartline.x", "a", "A_b-1", &"x".repeat(249)] {
        assert_eq!(good(&topics("rewards", name), &[]).kafka.topics.rewards, name);
        assert_eq!(good("", &[("HEARTLINE__KAFKA__TOPICS__HISTORY", name)]).kafka.topics.history, name);
    }
    for name in ["", ".", "..", "a b", "a/b", "ü", &"x".repeat(250)] {
        for key in ["rewards", "positions", "history", "quarantine"] {
            refused(&topics(key, name), &format!("kafka.topics.{key}: "), "249");
        }
    }
}

#[test]
fn topics_must_have_different_names() {
    for (key, name) in [("rewards", "heartline.history"), ("history", "heartline.rewards")] {
        refused(&format!("topics.{key} = {name:?}"), "kafka.topics.history: ", "is also kafka.topics.rewards");
    }
    refused("topics.positions = \"heartline.rewards\"", "kafka.topics.positions: ", "is also kafka.topics.rewards");
    refused("topics.quarantine = \"heartline.history\"", "kafka.topics.quarantine: ", "is also kafka.topics.history");
    refused(
        "topics.rewards = \"heartline.history.quarantine\"",
        "kafka.topics.quarantine: ",
        "is also kafka.topics.rew",
    );
}

#[test]
fn a_renamed_setting_is_refused_with_its_new_name() {
    let file = "/etc/heartline.toml: kafka.topic: is now called kafka.topics.rewards";
    assert_eq!(problems("topic = \"x\""), [file]);
    let variable = config("", &[("HEARTLINE__KAFKA__TOPIC", "x")]).expect_err("renamed");
    assert_eq!(variable, ["HEARTLINE__KAFKA__TOPIC: is now called HEARTLINE__KAFKA__TOPICS__REWARDS"]);
    // Its default proves nothing.
    assert_eq!(problems("topic = \"x\"\ntopics.history = \"heartline.rewards\"").len(), 1);
}

#[test]
fn history_retention_is_in_whole_milliseconds_and_has_bounds() {
    let of = |text: &str| good(&format!("[kafka]\nhistory_retention = {text:?}"), &[]).kafka.history_retention;
    assert_eq!((of("7d").as_secs(), of("1ms").as_millis()), (7 * 24 * 3600, 1));
    for (text, word) in [("0s", "1ms to 3650d"), ("3651d", "1ms to 3650d"), ("1500us", "whole milliseconds")] {
        refused(&format!("history_retention = {text:?}"), "kafka.history_retention: ", word);
    }
}

#[test]
fn kafka_numbers_have_bounds() {
    for (section, setting) in [
        ("partitions = 0", "kafka.partitions"),
        ("partitions = 10001", "kafka.partitions"),
        ("replication = 101", "kafka.replication"),
        ("linger = \"1s\"\ndelivery_timeout = \"1s\"", "kafka.linger"),
        ("min_in_sync = 0", "kafka.min_in_sync"),
        ("min_in_sync = 4", "kafka.min_in_sync"),
        ("replication = 1", "kafka.min_in_sync"),
        ("linger = \"1001ms\"", "kafka.linger"),
        ("delivery_timeout = \"999ms\"", "kafka.delivery_timeout"),
        ("delivery_timeout = \"11m\"", "kafka.delivery_timeout"),
    ] {
        refused(section, &format!("{setting}: "), "");
    }
    assert_eq!(problems("replication = 1\nmin_in_sync = 1\npartitions = 1\nlinger = \"0s\""), [""; 0]);
}

#[test]
fn security_that_is_not_built_in_is_refused() {
    for name in ["ssl", "sasl_ssl"] {
        let user = if name == "ssl" { "" } else { "sasl_user = \"u\"\nsasl_password = \"p\"" };
        refused(&format!("security = \"{name}\"\n{user}"), "kafka.security: ", "OpenSSL");
    }
    refused("security = \"tls\"", "kafka.security: ", "got \"tls\"");
}

#[test]
fn sasl_credentials_need_each_other_and_a_sasl_protocol() {
    let sasl = good("[kafka]\nsecurity = \"sasl_plaintext\"\nsasl_user = \"u\"\nsasl_password = \"p\"", &[]).kafka;
    assert_eq!((sasl.security, sasl.security.name()), (Security::SaslPlaintext, "sasl_plaintext"));
    refused("security = \"sasl_plaintext\"\nsasl_user = \"u\"", "kafka.sasl_password: ", "is empty");
    refused("security = \"sasl_plaintext\"\nsasl_password = \"p\"", "kafka.sasl_user: ", "is empty");
    refused("sasl_password = \"p\"", "kafka.sasl_password: ", "is not used");
}
