//! Certificates that are replaced while connections are open.

use std::fs;

use heartline::storage::config::redis::RedisConfig;
use heartline::storage_redis::Redis;
use heartline::storage_redis::prepare::prepare;

use super::authority::{ADDRESS, Authority, VALID, text};
use super::server::Encrypted;
use crate::redis::{comes_back, count, goes_away};

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn new_authorities_and_a_new_certificate_are_taken_by_new_connections() {
    let (old, new) = (Authority::new(), Authority::new());
    let encrypted = Encrypted::start(&old);
    encrypted.server.set("tls-auth-clients", "yes");
    let own = old.good();
    let config = RedisConfig {
        tls_cert: own.certificate.clone(),
        tls_key: own.key.clone(),
        ..encrypted.config(&encrypted.url(), &old.file())
    };
    prepare(&config).unwrap();
    let redis = Redis::open(&config).unwrap();
    count(&redis, &[1]).await;

    // The server trusts only the new authority and shows a certificate of it.
    encrypted.server.set("tls-ca-cert-file", text(&new.file()));
    encrypted.show(&new.sign(ADDRESS, VALID));
    goes_away(&redis).await;
    fs::copy(new.file(), old.file()).unwrap();
    redis.reload_certificates().unwrap_or_else(|told| panic!("{told}"));
    let next = new.sign("gateway.example", VALID);
    fs::copy(&next.certificate, &own.certificate).unwrap();
    // The key of another certificate: all stays as it was.
    let told = redis.reload_certificates().unwrap_err();
    assert!(told.contains("redis.tls_cert and redis.tls_key cannot be used together"), "{told}");
    fs::copy(&next.key, &own.key).unwrap();
    redis.reload_certificates().unwrap_or_else(|told| panic!("{told}"));
    comes_back(&redis, 1).await;
    assert_eq!(encrypted.connections(), 2);
}
