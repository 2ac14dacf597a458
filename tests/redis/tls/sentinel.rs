//! A master that Sentinel names, all with TLS.

use heartline::storage_redis::Redis;
use heartline::storage_redis::prepare::prepare;

use super::authority::{ADDRESS, Authority};
use super::server::{Encrypted, arguments};
use crate::redis::server::{Server, free_port};
use crate::redis::{comes_back, count, goes_away};

/// Sentinels with TLS of a master with TLS, and their ports.
fn sentinels(authority: &Authority, master: &Encrypted) -> (Vec<Server>, Vec<u16>) {
    let start = |_| {
        let port = free_port();
        // As lines of a file.
        let words = arguments(port, &authority.good(), authority);
        let tls: String =
            words.chunks(2).map(|pair| format!("{} {}\n", pair[0].trim_start_matches('-'), pair[1])).collect();
        let lines = format!(
            "{tls}tls-replication yes\nsentinel monitor mymaster {ADDRESS} {} 2\nsentinel down-after-milliseconds mymaster \
             1000\nsentinel failover-timeout mymaster 3000\n",
            master.port
        );
        (Server::sentinel(&lines), port)
    };
    (0..3).map(start).unzip()
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn the_master_is_looked_up_and_followed_with_tls() {
    let authority = Authority::new();
    let replicates = ["--tls-replication", "yes"];
    let mut master = Encrypted::start_with(&authority, &authority.good(), &replicates);
    let of = format!("{ADDRESS} {}", master.port);
    let follows = [&replicates[..], &["--replicaof", &of]].concat();
    let replica = Encrypted::start_with(&authority, &authority.good(), &follows);
    let (sentinels, ports) = sentinels(&authority, &master);
    let hosts: Vec<_> = ports.iter().map(|port| format!("{ADDRESS}:{port}")).collect();
    let url = format!("rediss-sentinel://{}/mymaster", hosts.join(","));
    let config = master.config(&url, &authority.file());

    let stranger = Authority::new();
    let told = crate::redis::server::refusal(&master.config(&url, &stranger.file()));
    assert!(told.contains(&format!(":{}: its certificate is not of an authority", ports[0])), "{told}");

    prepare(&config).unwrap();
    let redis = Redis::open(&config).unwrap();
    count(&redis, &[1, 2]).await;
    assert_eq!(master.connections(), 2);
    let has_all = || replica.server.tell::<u64>(&["DBSIZE"]) == master.server.tell::<u64>(&["DBSIZE"]);
    // Fewer are an error.
    let quorum = || sentinels[0].try_to_tell::<String>(&["SENTINEL", "CKQUORUM", "mymaster"]);
    while !quorum().is_ok_and(|told| told.starts_with("OK 3"))
        || sentinels[0].tell::<Vec<Vec<String>>>(&["SENTINEL", "REPLICAS", "mymaster"]).is_empty()
        || !has_all()
    {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    master.server.kill();
    goes_away(&redis).await;
    comes_back(&redis, 1).await;
    assert_eq!(replica.connections(), 2);
}
