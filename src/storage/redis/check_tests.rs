use super::*;

const INFO: &str = "# Server\r\nredis_version:7.0.15\r\naof_enabled:1\r\nloading:0\r\nasync_loading:0\r\nrole:master\r\n\
                    cluster_enabled:0\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n";

fn address() -> Address {
    Address::new("10.0.0.5", 7000)
}

fn alone() -> Target {
    Target::parse("redis://10.0.0.5:7000").expect("a URL")
}

fn cluster() -> Target {
    Target::parse("redis-cluster://10.0.0.5:7000").expect("a URL")
}

/// A good server, but for these.
fn server(info: &[(&str, &str)], config: &[(&str, &str)]) -> Server {
    let good = DURABLE.iter().map(|(name, value, _)| (*name, (*value).to_owned()));
    let good = good.chain(ENCODINGS.iter().map(|(name, least)| (*name, least.to_string())));
    let mut server = Server { info: Server::info(INFO), config: Settings::NotAsked };
    let mut told = HashMap::new();
    told.extend(good.map(|(name, value)| (name.to_owned(), value)));
    told.extend(config.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    server.config = Settings::Told(told);
    server.info.extend(info.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    server
}

/// It is refused for one reason, whatever the durability.
fn unfit(server: Server, words: &[&str]) {
    for durability in [Durability::Strict, Durability::Relaxed] {
        let told = match server.judge(&address(), &alone(), durability, None) {
            Err(RefusalCause::Unfit(lines)) if lines.len() == 1 => lines[0].clone(),
            other => panic!("{words:?}: {other:?}"),
        };
        assert!(words.iter().all(|word| told.contains(word)), "{words:?}: {told}");
    }
}

#[test]
fn a_server_that_syncs_before_it_answers_is_fit() {
    let good = server(&[], &[]);
    assert_eq!(good.judge(&address(), &alone(), Durability::Strict, None), Ok(Advice::default()));
    let in_cluster = server(&[("cluster_enabled", "1")], &[]);
    assert_eq!(in_cluster.judge(&address(), &cluster(), Durability::Strict, None), Ok(Advice::default()));
    let newer = server(&[("redis_version", "10.2.1"), ("maxmemory", "1000"), ("role", "master")], &[]);
    assert!(newer.judge(&address(), &alone(), Durability::Strict, None).is_ok());
}

#[test]
fn a_server_that_may_lose_commits_is_refused_with_the_commands_to_fix_it() {
    for (name, value, wanted) in [
        ("appendonly", "no", "yes"),
        ("appendfsync", "everysec", "always"),
        ("appendfsync", "no", "always"),
        ("no-appendfsync-on-rewrite", "yes", "no"),
    ] {
        let server = server(&[], &[(name, value)]);
        let Err(RefusalCause::Unfit(lines)) = server.judge(&address(), &alone(), Durability::Strict, None) else {
            panic!("{name} {value} is taken")
        };
        assert_eq!(lines.len(), 1, "{lines:?}");
        let mends = format!("redis-cli -h 10.0.0.5 -p 7000 CONFIG SET {name} {wanted}");
        for word in [&format!("10.0.0.5:7000 has {name} {value:?}"), &mends, &format!("redis.conf: {name} {wanted}")] {
            assert!(lines[0].contains(word), "{word}: {lines:?}");
        }
        let advice = server.judge(&address(), &alone(), Durability::Relaxed, None).expect("relaxed");
        assert!(advice.warnings.len() == 1 && advice.warnings[0].contains("may be lost"), "{advice:?}");
    }
    let all = server(&[], &[("appendonly", "no"), ("appendfsync", "no"), ("no-appendfsync-on-rewrite", "yes")]);
    let Err(RefusalCause::Unfit(lines)) = all.judge(&address(), &alone(), Durability::Strict, None) else {
        panic!("taken")
    };
    assert_eq!(lines.len(), 3, "one line each");
}

#[test]
fn a_server_that_evicts_keys_is_refused_even_if_relaxed() {
    unfit(
        server(&[("maxmemory", "1000000"), ("maxmemory_policy", "allkeys-lru")], &[]),
        &["maxmemory-policy \"allkeys-lru\"", "CONFIG SET maxmemory-policy noeviction"],
    );
    let unbounded = server(&[("maxmemory", "0"), ("maxmemory_policy", "allkeys-lru")], &[]);
    assert!(unbounded.judge(&address(), &alone(), Durability::Strict, None).is_ok());
}

#[test]
fn a_server_of_another_kind_or_version_is_refused() {
    unfit(server(&[("redis_version", "6.2.14")], &[]), &["6.2.14", "7.0"]);
    unfit(server(&[("cluster_enabled", "1")], &[]), &["redis-cluster://10.0.0.5:7000"]);
    let alone = server(&[], &[]).judge(&address(), &cluster(), Durability::Strict, None);
    assert!(
        matches!(&alone, Err(RefusalCause::Unfit(lines)) if lines[0].contains("is not a cluster node")),
        "{alone:?}"
    );
}

#[test]
fn a_loading_server_and_a_replica_behind_a_sentinel_are_unavailable() {
    let sentinel = Target::parse("redis-sentinel://10.0.0.9/mymaster").expect("a URL");
    for (name, value) in [("role", "slave"), ("loading", "1"), ("async_loading", "1")] {
        let told = server(&[(name, value)], &[]).judge(&address(), &sentinel, Durability::Strict, None);
        assert!(matches!(told, Err(RefusalCause::Away(_))), "{told:?}");
    }
    unfit(
        server(&[("role", "slave"), ("master_host", "10.0.0.6"), ("master_port", "7001")], &[]),
        &["redis://10.0.0.6:7001"],
    );
}

#[test]
fn a_server_without_config_get_is_refused_unless_relaxed() {
    let mut silent = server(&[], &[]);
    silent.config = Settings::Refused("NOPERM".to_owned());
    let Err(RefusalCause::Unfit(lines)) = silent.judge(&address(), &alone(), Durability::Strict, None) else {
        panic!("taken")
    };
    assert!(lines.len() == 1 && lines[0].contains("CONFIG GET (NOPERM)"), "{lines:?}");
    assert!(
        silent.judge(&address(), &alone(), Durability::Relaxed, None).is_ok_and(|advice| advice.warnings.len() == 1)
    );
}

/// Of a provider: its settings are not asked for.
fn managed(info: &[(&str, &str)]) -> Server {
    Server { config: Settings::NotAsked, ..server(info, &[]) }
}

#[test]
fn a_managed_server_is_judged_by_what_info_says() {
    let judge = |server: Server, target: Target| server.judge(&address(), &target, Durability::Managed, None);
    assert_eq!(judge(managed(&[]), alone()), Ok(Advice::default()));
    assert_eq!(judge(managed(&[("aof_enabled", "0")]), alone()), Ok(Advice::default()));
    let wrong = |server: Server, word: &str| {
        let told = judge(server, alone());
        assert!(matches!(&told, Err(RefusalCause::Unfit(lines)) if lines[0].contains(word)), "{word}: {told:?}");
    };
    let evicts = managed(&[("maxmemory", "1000"), ("maxmemory_policy", "volatile-lru")]);
    wrong(evicts, "maxmemory-policy \"volatile-lru\"");
    wrong(managed(&[("role", "slave"), ("master_host", "10.0.0.6"), ("master_port", "7001")]), "is a replica");
    wrong(managed(&[("redis_version", "6.2.14")]), "6.2.14");
    wrong(managed(&[("cluster_enabled", "1")]), "redis-cluster://");
}

#[test]
fn a_managed_server_may_say_nothing_of_itself() {
    let silent = Server { info: HashMap::new(), config: Settings::NotAsked };
    for target in [alone(), cluster()] {
        assert_eq!(silent.judge(&address(), &target, Durability::Managed, None), Ok(Advice::default()));
    }
    let promises = silent.promises(&address());
    assert_eq!(promises.matches("is not known (INFO)").count(), 3, "{promises}");
}

#[test]
fn what_an_ack_means_at_a_provider_is_told() {
    let told = managed(&[("aof_enabled", "0"), ("connected_slaves", "2")]).promises(&address());
    for word in ["10.0.0.5:7000 has answered", "no append-only file", "2 replicas", "its provider promises"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    let told = managed(&[("connected_slaves", "0")]).promises(&address());
    assert!(told.contains("has an append-only file") && told.contains("no replica"), "{told}");
}

#[test]
fn a_command_that_mends_a_server_with_tls_has_tls() {
    let encrypted = Target::parse("rediss://10.0.0.5:7000").expect("a URL");
    let told = server(&[], &[("appendonly", "no")]).judge(&address(), &encrypted, Durability::Strict, None);
    assert!(matches!(&told, Err(RefusalCause::Unfit(lines)) if lines[0].contains("redis-cli --tls -h")), "{told:?}");
}

#[test]
fn a_wasteful_encoding_is_warned_about() {
    let server = server(&[], &[("set-max-intset-entries", "512")]);
    let advice = server.judge(&address(), &alone(), Durability::Strict, None).expect("fit");
    assert!(advice.warnings.len() == 1 && advice.warnings[0].contains("set-max-intset-entries 16384"), "{advice:?}");
}

#[test]
fn a_server_that_writes_its_first_append_only_file_is_waited_for() {
    let first = [("aof_rewrite_in_progress", "1"), ("cmdstat_config|set", "calls=1,usec=9")];
    let told = server(&first, &[]).judge(&address(), &alone(), Durability::Strict, None);
    assert!(matches!(&told, Err(RefusalCause::Rewriting(why)) if why.contains("10.0.0.5:7000")), "{told:?}");
    let told = server(&first, &[]).judge(&address(), &alone(), Durability::Relaxed, None).expect("relaxed");
    assert_eq!(told.warnings.len(), 1, "{told:?}");

    let failed = server(&[("aof_last_bgrewrite_status", "err")], &[]);
    let told = failed.judge(&address(), &alone(), Durability::Strict, None).expect("in force all the same");
    assert!(told.warnings[0].contains("only grows"), "{told:?}");
}
