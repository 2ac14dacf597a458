//! A Redis belongs to one deployment, and is whole.

use std::process::Command;

use heartline::storage_redis::prepare::{Prepared, prepare};

use super::server::{Server, free_port};
use super::{away, away_because, count};

fn id(prepared: &Prepared) -> String {
    match prepared {
        Prepared::New { id } | Prepared::Completed { id } | Prepared::Before { id } => id.clone(),
    }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_new_server_is_refused_until_prepared() {
    let server = Server::start(&[]);
    assert!(server.refusal().contains("if it is new, run: heartline init"), "{}", server.refusal());
    let made = prepare(&server.config()).unwrap();
    assert!(matches!(made, Prepared::New { .. }), "{made:?}");
    assert_eq!(server.tell::<u64>(&["DBSIZE"]), 1000);
    assert_eq!(prepare(&server.config()).unwrap(), Prepared::Before { id: id(&made) });
    let redis = server.open();
    assert!(redis.deployment().starts_with(&id(&made)), "{}", redis.deployment());
    let all: Vec<u16> = (0..1000).rev().collect();
    assert_eq!(count(&redis, &all).await, vec![1; 1000]);
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn an_interrupted_init_is_continued() {
    for broken_off in [1, 500, 1000] {
        let server = Server::start(&[]);
        // It writes all keys as being prepared, and then all as ready.
        for shard in 0..broken_off {
            server.tell::<()>(&["SET", &format!("{{h{shard}}}:deployment"), "preparing 0123-abc"]);
        }
        assert!(server.refusal().contains("run heartline init again"), "{}", server.refusal());
        assert_eq!(prepare(&server.config()).unwrap(), Prepared::Completed { id: "0123-abc".to_owned() });
        count(&server.open(), &[1]).await;
    }
    let server = Server::prepared();
    let ready: String = server.tell(&["GET", "{h0}:deployment"]);
    let id = ready.split(' ').next().unwrap();
    for shard in 300..1000 {
        server.tell::<()>(&["SET", &format!("{{h{shard}}}:deployment"), &format!("preparing {id}")]);
    }
    assert!(server.refusal().contains("run heartline init again"), "{}", server.refusal());
    assert_eq!(prepare(&server.config()).unwrap(), Prepared::Completed { id: id.to_owned() });
    assert_eq!(server.tell::<String>(&["GET", "{h999}:deployment"]), ready);
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_deployment_that_lost_a_part_is_neither_served_nor_prepared() {
    let server = Server::prepared();
    server.tell::<()>(&["DEL", "{h7}:deployment"]);
    for told in [server.refusal(), prepare(&server.config()).unwrap_err().to_string()] {
        assert!(told.contains("backup") && told.contains('1'), "{told}");
    }
    let server = Server::start(&[]);
    server.tell::<()>(&["SET", "{h12}:h:42", "x"]);
    let told = prepare(&server.config()).unwrap_err().to_string();
    assert!(told.contains("{h12}:h:42") && told.contains("backup"), "{told}");
    assert_eq!(server.tell::<u64>(&["DBSIZE"]), 1, "nothing was written");
    server.tell::<()>(&["RENAME", "{h12}:h:42", "{hello}:h:42"]);
    prepare(&server.config()).unwrap();
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn another_format_or_a_mix_of_two_deployments_is_refused() {
    let server = Server::prepared();
    for other in ["abc format=4 shards=500 hash=siphash-2-4", "abc format=3 shards=1000 hash=siphash-2-4"] {
        server.tell::<()>(&["SET", "{h5}:deployment", other]);
        for told in [server.refusal(), prepare(&server.config()).unwrap_err().to_string()] {
            assert!(told.contains(other) && told.contains("another"), "{told}");
        }
    }
    server.tell::<()>(&["SET", "{h5}:deployment", "abc format=4 shards=1000 hash=siphash-2-4"]);
    assert!(server.refusal().contains("abc"), "{}", server.refusal());
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_server_wiped_while_running_takes_no_writes_even_if_prepared_again() {
    let server = Server::prepared();
    let redis = server.open();
    count(&redis, &[1, 2]).await;
    server.tell::<()>(&["FLUSHALL"]);
    away(&redis).await;
    away_because(&redis, "data was wiped").await;
    assert_eq!(server.tell::<u64>(&["DBSIZE"]), 0, "nothing was written");
    // A gateway that takes it for a new one has another deployment, which this process was not started on.
    prepare(&server.config()).unwrap();
    away_because(&redis, "belongs to the deployment").await;
    assert_eq!(server.tell::<u64>(&["DBSIZE"]), 1000);
}

/// What `heartline init` says, on either stream, and how it ends.
fn init(url: &str) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heartline"));
    let settings = [("HEARTLINE__STORE__HOT_STORE", "redis"), ("HEARTLINE__REDIS__URL", url)];
    let output = command.arg("init").env_clear().envs(settings).output().unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (text, output.status.code())
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn the_init_command_prints_what_it_did() {
    let server = Server::start(&[]);
    let (said, code) = init(&server.url());
    assert!(said.contains("Redis is prepared: deployment ") && code == Some(0), "{said}");
    let (said, code) = init(&server.url());
    assert!(said.contains("was prepared before") && said.contains("nothing was changed") && code == Some(0), "{said}");
    server.set("appendfsync", "no");
    let (said, code) = init(&server.url());
    assert!(said.contains("CONFIG SET appendfsync always") && code == Some(78), "{said}");
    let (said, code) = init(&format!("redis://:hunter2@127.0.0.1:{}", free_port()));
    assert!(said.contains("start it, or set redis.url") && !said.contains("hunter2") && code == Some(69), "{said}");
}
