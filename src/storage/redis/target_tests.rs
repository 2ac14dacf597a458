use super::*;

fn good(url: &str) -> Target {
    Target::parse(url).unwrap_or_else(|wrong| panic!("{url}: {wrong}"))
}

fn addresses(url: &str) -> Vec<String> {
    good(url).addresses.iter().map(Address::to_string).collect()
}

#[test]
fn a_url_names_a_server_a_cluster_or_a_master() {
    assert_eq!((good("redis://a:7000").kind, addresses("redis://a:7000")), (Kind::Server, vec!["a:7000".to_owned()]));
    assert_eq!(addresses("redis://a/3"), ["a:6379"]);
    assert_eq!(good("redis://a/3").database, 3);
    assert_eq!(good("redis-cluster://a:1,b:2").kind, Kind::Cluster);
    assert_eq!(addresses("redis-cluster://a:1,b,[::1]:3"), ["a:1", "b:6379", "[::1]:3"]);
    let sentinel = good("redis-sentinel://a,b:2/mymaster");
    assert_eq!(sentinel.kind, Kind::Sentinel { master: "mymaster".to_owned() });
    assert_eq!(addresses("redis-sentinel://a,b:2/mymaster"), ["a:26379", "b:2"]);
}

#[test]
fn a_second_s_in_the_scheme_asks_for_tls() {
    for (plain, encrypted) in [
        ("redis://a:1/3", "rediss://a:1/3"),
        ("redis-cluster://a:1,b", "rediss-cluster://a:1,b"),
        ("redis-sentinel://a,b:2/m", "rediss-sentinel://a,b:2/m"),
    ] {
        let (plain, encrypted) = (good(plain), good(encrypted));
        assert!(!plain.encrypted && encrypted.encrypted);
        assert_eq!((&plain.kind, &plain.addresses), (&encrypted.kind, &encrypted.addresses));
    }
    let (address, encrypted) = (Address::new("a", 1), good("rediss://a"));
    assert_eq!(encrypted.url(&Kind::Server, &address), "rediss://a:1");
    assert_eq!(encrypted.url(&Kind::Cluster, &address), "rediss-cluster://a:1");
    assert_eq!(good("redis://a").url(&Kind::Server, &address), "redis://a:1");
}

#[test]
fn user_and_password_are_decoded_from_the_url() {
    let target = good("redis://me:p%40ss%2F:w@a:1/2");
    assert_eq!((target.user.as_deref(), target.password.as_deref()), (Some("me"), Some("p@ss/:w")));
    let target = good("redis-cluster://:p@ss@a:1");
    assert_eq!((target.user.as_deref(), target.password.as_deref()), (None, Some("p@ss")));
}

#[test]
fn other_urls_are_refused_for_what_is_wrong() {
    for (url, wrong) in [
        ("", "is not redis://"),
        ("127.0.0.1:6379", "is not redis://"),
        ("http://a", "is not redis://"),
        ("redis://", "is not redis://"),
        ("redis-cluster://a,,b", "is not redis://"),
        ("redisss://a", "is not redis://"),
        ("rediss://", "is not redis://"),
        ("redis://a:b", "\"b\" is not a port"),
        ("redis://a:70000", "\"70000\" is not a port"),
        ("redis://a,b", "redis-cluster://"),
        ("redis://a/x", "\"x\" is not the number of a database"),
        ("redis://a?protocol=3", "nothing after ?"),
        ("redis-cluster://a/1", "only one"),
        ("redis-sentinel://a", "name of the master"),
        ("redis-sentinel://a/m/1", "name of the master"),
        ("redis://me@a", "without a password"),
        ("redis://me:%ff@a", "not UTF-8"),
    ] {
        let told = Target::parse(url).expect_err(url);
        assert!(told.contains(wrong), "{url}: {told}");
    }
}

#[test]
fn a_password_is_shown_nowhere() {
    for url in ["redis://me:hunter2@a:x", "redis://me:hunter2@", "redis://me:hunter2@a/x", "foo://me:hunter2@a"] {
        let told = Target::parse(url).expect_err(url);
        assert!(!told.contains("hunter2"), "{told}");
    }
    assert!(!format!("{:?}", good("redis://me:hunter2@a")).contains("hunter2"));
}
