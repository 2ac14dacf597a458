//! Certificates, names, passwords and ports that are wrong: each is named, and a running gateway recovers.

use std::time::{Duration, Instant};

use heartline::model::shard::Shard;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage_redis::Redis;
use heartline::storage_redis::prepare::prepare;
use redis::PushInfo;

use super::authority::{ADDRESS, Authority, EXPIRED, VALID};
use super::server::Encrypted;
use crate::redis::server::refusal;
use crate::redis::{away_because, comes_back, count, goes_away};

/// The longest until a fault is named.
const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn all_connections_have_tls() {
    let authority = Authority::new();
    let encrypted = Encrypted::start(&authority);
    let config = encrypted.config(&encrypted.url(), &authority.file());
    prepare(&config).unwrap();
    let redis = Redis::open(&config).unwrap();
    let all: Vec<u16> = (0..1000).collect();
    assert_eq!(count(&redis, &all).await, vec![1; 1000]);
    let listener = redis.listen(Shard(1), |_: PushInfo| Ok::<(), ()>(())).await.unwrap();
    assert_eq!(encrypted.connections(), 3, "commits, reads, messages");
    drop(listener);
}

/// What a start says, and that it does so soon.
fn said_soon(config: &RedisConfig) -> String {
    let began = Instant::now();
    let told = refusal(config);
    assert!(began.elapsed() < SOON, "after {:?}: {told}", began.elapsed());
    told
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_start_is_refused_for_what_is_wrong() {
    let (authority, other) = (Authority::new(), Authority::new());
    let encrypted = Encrypted::start(&authority);
    let good = encrypted.config(&encrypted.url(), &authority.file());
    prepare(&good).unwrap();
    let says = |config: &RedisConfig, words: &str| {
        let told = said_soon(config);
        assert!(told.contains(words) && told.lines().count() == 1, "{words:?}: {told}");
    };
    says(&encrypted.config(&encrypted.url(), &other.file()), "is not of an authority in redis.tls_ca");
    says(&RedisConfig::strict(&encrypted.url()), "that this machine trusts; set redis.tls_ca");
    let (plain, tls) = (encrypted.server.port, encrypted.port);
    let swapped = format!("rediss://{ADDRESS}:{plain}");
    says(&encrypted.config(&swapped, &authority.file()), &format!("{ADDRESS}:{plain} has no TLS on this port"));
    let swapped = format!("redis://{ADDRESS}:{tls}");
    says(&RedisConfig::strict(&swapped), &format!("{ADDRESS}:{tls} speaks TLS on this port"));

    encrypted.let_in("gateway", "right");
    let wrong = encrypted.url().replace("//", "//gateway:wrong@");
    says(&encrypted.config(&wrong, &authority.file()), "does not let this user in");

    encrypted.server.set("tls-auth-clients", "yes");
    says(&good, "asks for a client certificate (CertificateRequired); set redis.tls_cert");
    let with = |signed: super::authority::Signed| RedisConfig {
        tls_cert: signed.certificate,
        tls_key: signed.key,
        ..encrypted.config(&encrypted.url(), &authority.file())
    };
    says(&with(other.good()), "does not accept the certificate of redis.tls_cert");
    says(&with(authority.sign(ADDRESS, EXPIRED)), "does not accept the certificate of redis.tls_cert");
    Redis::open(&with(authority.good())).unwrap();
    encrypted.server.set("tls-auth-clients", "no");

    encrypted.show(&authority.sign(ADDRESS, EXPIRED));
    says(&good, "its certificate has expired; renew it");
    encrypted.show(&authority.sign(ADDRESS, (2090, 2091)));
    says(&good, "is not valid yet");
    encrypted.show(&authority.sign("redis.example", VALID));
    says(&good, "is not for the name \"127.0.0.1\"");
    encrypted.show(&authority.good());
    Redis::open(&good).unwrap();
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_fault_while_it_runs_is_named_and_mended() {
    let (authority, other) = (Authority::new(), Authority::new());
    let encrypted = Encrypted::start(&authority);
    encrypted.let_in("gateway", "right");
    let config = encrypted.config(&encrypted.url().replace("//", "//gateway:right@"), &authority.file());
    prepare(&config).unwrap();
    let redis = Redis::open(&config).unwrap();
    count(&redis, &[1]).await;
    let expired = || encrypted.show(&authority.sign(ADDRESS, EXPIRED));
    let misnamed = || encrypted.show(&authority.sign("redis.example", VALID));
    let unknown = || encrypted.show(&other.good());
    let password = || {
        encrypted.let_in("gateway", "another");
        encrypted.hang_up();
    };
    let faults: [(&dyn Fn(), &str); 4] = [
        (&expired, "its certificate has expired"),
        (&misnamed, "is not for the name"),
        (&unknown, "is not of an authority in redis.tls_ca"),
        (&password, "does not let this user in"),
    ];
    for (begin, words) in faults {
        begin();
        let began = Instant::now();
        goes_away(&redis).await;
        away_because(&redis, words).await;
        assert!(began.elapsed() < SOON, "{words:?} after {:?}", began.elapsed());
        encrypted.let_in("gateway", "right");
        encrypted.show(&authority.good());
        comes_back(&redis, 1).await;
    }
    assert_eq!(encrypted.connections(), 2);
}
