//! What is stored in the end, as a gateway reads it that was not there, and key by key.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use heartline::domain::time::clock;
use heartline::model::ids::UserId;
use heartline::model::rewards::claim::{Claim, ClaimKey};
use heartline::model::rows_read::RowsRead;
use heartline::model::shard::Shards;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::hot_store::optimistic::Head;
use heartline::storage::hot_store::{Claims, Positions};
use heartline::storage_redis::hot_store::{RedisStore, head};
use heartline::storage_redis::{Redis, tag};
use redis::{Client, Connection, cmd};
use tokio::runtime::Builder;

use crate::conflicts::audit::Book;
use crate::conflicts::counted;
use crate::conflicts::gateway::settings;
use crate::conflicts::redis_server::RedisServer;
use crate::conflicts::requests::{Limits, everything};
use crate::conflicts::stored_user::{self, StoredUser};

const QUIET_AFTER: Duration = Duration::from_secs(60);

/// Until no connection but this one is left: nothing is on its way any more.
pub fn wait_until_quiet(server: &RedisServer) {
    let mut connection = Client::open(server.url()).unwrap().get_connection().unwrap();
    let began = Instant::now();
    loop {
        let clients: String = cmd("CLIENT").arg("LIST").query(&mut connection).unwrap();
        if clients.lines().count() == 1 {
            return;
        }
        assert!(began.elapsed() < QUIET_AFTER, "somebody is still connected:\n{clients}");
        thread::sleep(Duration::from_millis(20));
    }
}

pub fn check(server: &RedisServer, limits: Limits, books: &BTreeMap<UserId, Book>) {
    let mut connection = Client::open(server.url()).unwrap().get_connection().unwrap();
    let mut records = Vec::new();
    for (user, book) in books {
        let found = keys_of(&mut connection, *user);
        let StoredUser { head, rows, timeline, .. } = book.end().0.expect("each user was written");
        assert_eq!((&found.head, &found.rows, &found.timeline), (head, rows, timeline), "user {}", user.0);
        records.extend(found.records().map(|record| (*user, record.clone())));
    }
    counted::check(server, records.iter().map(|(user, record)| (*user, record)));
    assert_eq!(
        outboxes(&mut connection, books.keys()),
        texts(books.values().flat_map(|book| &book.end().0.expect("as above").outbox))
    );
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let redis = Redis::open(&RedisConfig::strict(&server.url())).unwrap();
        let store = RedisStore::open(redis, settings(limits), Arc::new(|_| false)).await.unwrap();
        for (user, book) in books {
            reads(&store, *user, book).await;
        }
    });
}

fn keys_of(connection: &mut Connection, user: UserId) -> StoredUser {
    let key = |letter| format!("{}:{letter}:{}", tag(Shards::DEFAULT.of(user)), user.0);
    let mut found = StoredUser::default();
    let bytes: Option<Vec<u8>> = cmd("GET").arg(key("h")).query(connection).unwrap();
    found.head = bytes.map(|bytes| -> Head { head::decode(&bytes).unwrap() });
    let rows: Vec<(Vec<u8>, Vec<u8>)> = cmd("HGETALL").arg(key("r")).query(connection).unwrap();
    rows.iter().for_each(|(content, row)| found.put_row(content, row));
    let places = cmd("ZRANGE").arg(key("t")).arg(0).arg(-1).arg("WITHSCORES").query(connection);
    let places: Vec<(Vec<u8>, Vec<u8>)> = places.unwrap();
    places.iter().for_each(|(content, score)| found.put_place(content, score));
    found
}

/// Of all shards that have users.
fn outboxes<'u>(connection: &mut Connection, users: impl Iterator<Item = &'u UserId>) -> Vec<String> {
    let mut shards: Vec<_> = users.map(|user| Shards::DEFAULT.of(*user)).collect();
    shards.sort_unstable();
    shards.dedup();
    let mut claims = Vec::new();
    for shard in shards {
        let range = cmd("ZRANGE").arg(format!("{}:o", tag(shard))).arg(0).arg(-1).query(connection);
        let entries: Vec<Vec<u8>> = range.unwrap();
        claims.extend(entries.iter().map(|entry| stored_user::claim(entry)));
    }
    texts(claims.iter())
}

fn texts<'c>(claims: impl Iterator<Item = &'c Claim>) -> Vec<String> {
    let mut texts: Vec<String> = claims.map(|claim| format!("{claim:?}")).collect();
    texts.sort_unstable();
    texts
}

async fn reads(store: &RedisStore, user: UserId, book: &Book) {
    let (now, model) = (clock::wall(), book.end().1.kept());
    let page = store.list(user, everything(), now, RowsRead::default()).await.unwrap();
    assert_eq!(page, model.list(user, &everything(), now), "list of user {}", user.0);
    let contents: Vec<_> = book.end().1.contents(user).into_keys().collect();
    let expected: Vec<_> = contents.iter().map(|content| model.get(user, *content, now)).collect();
    assert_eq!(store.get(user, contents, now).await.unwrap().records, expected, "user {}", user.0);
    assert_eq!(store.paused(user).await.unwrap(), model.paused(user), "pause of user {}", user.0);
    let mut days: Vec<_> = model.claims().iter().map(|claim| claim.day).collect();
    days.sort_unstable();
    days.dedup();
    for day in days {
        let sorted = |mut claims: Vec<ClaimKey>| {
            claims.sort_by_key(|claim| format!("{claim:?}"));
            claims
        };
        let found = store.claims_of(user, day, usize::MAX).await.unwrap();
        assert_eq!(sorted(found), sorted(model.claims_of(user, day)), "claims of user {}", user.0);
    }
}
