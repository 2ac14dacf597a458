use super::super::layers::Layers;
use super::super::{Checked, DEFAULTS};

const FILE: &str = "heartline.toml";
const REDIS: &str = "[store]\nhot_store = \"redis\"\n";

fn warnings_of(file: &str) -> Vec<String> {
    let mut layers = Layers::defaults();
    let problems = layers.add_text(FILE, file);
    let checked = Checked::of(layers, problems);
    assert_eq!(checked.problems, [], "{file}");
    checked.warnings.iter().map(ToString::to_string).collect()
}

fn quiet(file: &str) {
    assert_eq!(warnings_of(file), [""; 0], "{file}");
}

/// There is one warning, with these settings as its place and this reason.
fn unused(file: &str, settings: &[&str], why: &str) {
    let places: Vec<_> = settings.iter().map(|setting| format!("{FILE}: {setting}")).collect();
    assert_eq!(warnings_of(file), [format!("{}: not used, because {why}", places.join(", "))], "{file}");
}

#[test]
fn the_defaults_and_a_copy_of_them_are_quiet() {
    quiet("");
    quiet(DEFAULTS);
}

#[test]
fn the_bounds_themselves_are_quiet() {
    quiet("[store]\nretention = \"24h\"\nclock_step_max = \"1h\"");
    quiet("[server]\ntrusted_proxies = [\"0.0.0.0/1\", \"10.0.0.0/8\", \"8000::/1\"]");
    quiet("[demo]\nenabled = false\nissue_tokens_for_any_user_with_the_real_key = true");
}

#[test]
fn acks_from_memory_and_open_calls_are_found() {
    let of = |file: &str, setting: &str, why: &str| {
        let warned = warnings_of(file);
        let place = format!("{FILE}: {setting}: ");
        assert!(warned.len() == 1 && warned[0].starts_with(&place) && warned[0].contains(why), "{file}: {warned:?}");
    };
    of(&format!("{REDIS}[redis]\ndurability = \"relaxed\""), "redis.durability", "may lose acknowledged positions");
    quiet(&format!("{REDIS}[redis]\ndurability = \"strict\""));
    let key = "[auth]\nhs256_secret = \"0123456789abcdef0123456789abcdef\"\n";
    let open = format!("{key}[grpc]\nlisten = \"0.0.0.0:7703\"\n");
    of(&open, "grpc.listen", "there is no TLS");
    quiet(&format!("{open}tls_cert = \"a.pem\"\ntls_key = \"b.pem\""));
    quiet("[grpc]\nlisten = \"127.0.0.1:7703\"");
}

#[test]
fn networks_that_are_everybody_together_are_found() {
    for all in [
        r#"["0.0.0.0/0"]"#,
        r#"["::/0"]"#,
        r#"["128.0.0.0/1", "10.0.0.0/8", "0.0.0.0/1"]"#,
        r#"["::/1", "8000::/2", "c000::/2"]"#,
    ] {
        let warned = warnings_of(&format!("[server]\ntrusted_proxies = {all}"));
        assert!(warned.len() == 1 && warned[0].starts_with("heartline.toml: server.trusted_proxies: "), "{warned:?}");
    }
}

#[test]
fn settings_of_a_store_that_is_not_chosen_are_named_together() {
    let embedded = "store.hot_store is \"embedded\"";
    unused("[redis]\nurl = \"redis://a\"\ndurability = \"relaxed\"", &["redis.durability", "redis.url"], embedded);
    let kafka = "[kafka]\nbrokers = [\"a:9092\"]\n[kafka.topics]\nrewards = \"r\"";
    let no_kafka = "events.event_bus is \"embedded\" and history.store is \"none\"";
    unused(kafka, &["kafka.brokers", "kafka.topics.rewards"], no_kafka);
    let history = "[history]\ninterval = \"10s\"\n[cassandra]\nnodes = [\"a:9042\"]";
    unused(history, &["cassandra.nodes", "history.interval"], "history.store is \"none\"");
    unused("[statistics]\ndatabase = \"other\"", &["statistics.database"], "statistics.store is \"embedded\"");
    let in_kafka = "[events]\nevent_bus = \"kafka\"\n";
    unused(
        &format!("{in_kafka}retention_bytes = 2000000"),
        &["events.retention_bytes"],
        "events.event_bus is \"kafka\"",
    );
    let on_redis = "store.hot_store is \"redis\"";
    unused(&format!("{REDIS}cache_bytes = 1"), &["store.cache_bytes"], on_redis);
    unused(&format!("{REDIS}accept_clock_before_store = true"), &["store.accept_clock_before_store"], on_redis);
    unused(
        &format!("{REDIS}prune_interval = \"2h\"\n{in_kafka}"),
        &["store.prune_interval"],
        "store.hot_store is \"redis\" and events.event_bus is \"kafka\"",
    );
}

#[test]
fn settings_of_a_chosen_store_are_quiet() {
    quiet(&format!("{REDIS}[redis]\nurl = \"redis://a\""));
    quiet("[store]\ncache_bytes = 1");
    quiet(&format!("{REDIS}prune_interval = \"2h\""));
    quiet("[events]\nevent_bus = \"kafka\"\n[kafka]\nbrokers = [\"a:9092\"]");
    quiet("[events]\nretention_bytes = 2000000");
    quiet(&format!(
        "{REDIS}[history]\nstore = \"cassandra\"\ninterval = \"10s\"\n[cassandra]\nnodes = [\"a:9042\"]\n[kafka]\nlinger = \"6ms\""
    ));
    quiet(&format!("{REDIS}[statistics]\nstore = \"mongodb\"\nurl = \"mongodb://a\"\ndatabase = \"other\""));
}
