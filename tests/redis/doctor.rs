//! `heartline doctor`: what it says of a Redis, and how it ends.

use std::time::{Duration, Instant};

use super::server::Server;
use super::tls::authority::{ADDRESS, Authority, EXPIRED, VALID, text};
use super::tls::server::Encrypted;
use crate::support::run;

/// Faults are named within this time.
const SOON: Duration = Duration::from_secs(10);

/// How it ends, and what it prints.
fn doctor(settings: &[(&str, &str)]) -> (Option<i32>, String) {
    let began = Instant::now();
    let output = run(&["doctor"], &[&[("store.hot_store", "redis")], settings].concat());
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_redis_is_described_or_what_to_do_is_said() {
    let mut server = Server::start(&[]);
    let url = server.url();
    let (code, said) = doctor(&[("redis.url", &url)]);
    assert!(code == Some(69) && said.starts_with("redis: fault: ") && said.contains("heartline init"), "{said}");
    heartline::storage_redis::prepare::prepare(&server.config()).unwrap();
    let (code, said) = doctor(&[("redis.url", &url)]);
    assert!(code == Some(0) && !said.contains("fault"), "{said}");
    for words in [&format!("redis: {ADDRESS}:{}: Redis ", server.port), "without TLS, 1000 shards", "is on its disk"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let (code, said) = doctor(&[("redis.url", &url), ("redis.durability", "managed")]);
    assert!(code == Some(0) && said.contains("its provider promises") && !said.contains("advice"), "{said}");
    server.set("appendfsync", "everysec");
    let (code, said) = doctor(&[("redis.url", &url)]);
    assert!(code == Some(69) && said.contains("CONFIG SET appendfsync always"), "{said}");
    let (code, said) = doctor(&[("redis.url", &url), ("redis.durability", "relaxed")]);
    assert!(code == Some(0) && said.contains("\nredis: advice: "), "{said}");
    server.kill();
    let (code, said) = doctor(&[("redis.url", &url)]);
    assert!(code == Some(69) && said.contains("Connection refused"), "{said}");
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn faults_of_tls_are_named() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let encrypted = Encrypted::start(&authority);
    let (ca, other) = (authority.file(), stranger.file());
    let (url, ca, other) = (encrypted.url(), text(&ca), text(&other));
    let config = encrypted.config(&url, &authority.file());
    heartline::storage_redis::prepare::prepare(&config).unwrap();
    let says = |settings: &[(&str, &str)], words: &str| {
        let (code, said) = doctor(settings);
        assert!(code == Some(69) && said.starts_with("redis: fault: ") && said.contains(words), "{words}: {said}");
    };
    let good = [("redis.url", &*url), ("redis.tls_ca", ca)];
    let (code, said) = doctor(&good);
    assert!(code == Some(0) && said.contains(" with TLS, 1000 shards of the deployment "), "{said}");
    says(&[("redis.url", &url), ("redis.tls_ca", other)], "is not of an authority in redis.tls_ca");
    says(&[("redis.url", &url), ("redis.tls_ca", "/nowhere")], "redis.tls_ca = \"/nowhere\" cannot be used");
    encrypted.show(&authority.sign(ADDRESS, EXPIRED));
    says(&good, "its certificate has expired; renew it");
    encrypted.show(&authority.sign("redis.example", VALID));
    says(&good, "is not for the name");
    let plain = format!("rediss://{ADDRESS}:{}", encrypted.server.port);
    says(&[("redis.url", &plain), ("redis.tls_ca", ca)], "has no TLS on this port");
    let swapped = url.replace("rediss", "redis");
    says(&[("redis.url", &swapped)], "speaks TLS on this port");
    encrypted.show(&authority.good());
    encrypted.let_in("gateway", "right");
    let wrong = url.replace("//", "//gateway:wrong@");
    says(&[("redis.url", &wrong), ("redis.tls_ca", ca)], "does not let this user in");
    let right = url.replace("//", "//gateway:right@");
    let (code, said) = doctor(&[("redis.url", &right), ("redis.tls_ca", ca)]);
    assert!(code == Some(0) && !said.contains("right"), "{said}");
}
