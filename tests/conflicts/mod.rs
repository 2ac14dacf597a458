//! Conflicts on the real path: two gateways, each with the real committer and connections of its own, write the same
//! thousand users on a real Redis, over ways that are cut between request and reply. What Redis has done is replayed by
//! the model, in the order of the tokens.

mod append_log;
mod audit;
mod counted;
mod crowd;
mod gateway;
mod stored_user;
mod what_is_left;
mod witness;

use crate::backends::requests;
use crate::cutting_proxy;
use crate::state_search::{replay, state};
use crate::support::redis_server;

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use heartline::model::ids::UserId;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage_redis::prepare::prepare;

use audit::{Book, Said, Tally};
use crowd::USERS;
use cutting_proxy::{Cut, CuttingProxy, Targets};
use gateway::{Account, Plan};
use redis_server::RedisServer;
use requests::{Limits, ROOMY};
use stored_user::Write;

/// What the crowds do and where ways are cut follows from it; the order in which two gateways come does not.
const SEED: u64 = 16;
/// Of each gateway.
const CHANGES: usize = 32_000;
/// Fewer than the contents that there are.
const LIMITS: Limits = Limits { records_per_user: 7, ..ROOMY };
/// Commits, and reads of heads and rows; not what looks after the connections.
const TARGETS: Targets = &[(b"EVALSHA", 0.06), (b":h:", 0.02), (b":r:", 0.02)];
/// Each is changed by one gateway alone.
const OWN_USERS: [UserId; 2] = [UserId(USERS), UserId(USERS + 1)];

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn commits_of_two_gateways_equal_a_replay_in_token_order() {
    eprintln!("seed {SEED}");
    let directory = tempfile::tempdir().unwrap();
    // The order of all writes is in one file.
    let arguments = ["--auto-aof-rewrite-percentage", "0"].map(str::to_owned);
    let server = RedisServer::start_with(directory.path(), &arguments);
    prepare(&RedisConfig::strict(&server.url())).unwrap();
    counted::begin(&server);
    let began = Instant::now();
    let (accounts, was_hard) = commit_all(&server);
    eprintln!("committed in {:?}", began.elapsed());
    what_is_left::wait_until_quiet(&server);
    let log = append_log::read(directory.path());
    let writes: Vec<Write> = log.into_iter().flat_map(stored_user::writes).collect();
    let began = Instant::now();
    let (books, tally) = replay_all(accounts, &writes);
    eprintln!("replayed in {:?}: {tally:?}", began.elapsed());
    assert!(was_hard, "there were too few conflicts or cuts to show anything");
    assert!(tally.writes > CHANGES && tally.silent > 1_000 && tally.claims > 1_000);
    what_is_left::check(&server, LIMITS, &books);
}

/// Two gateways at the same time, each to its end. Also whether they were in each other's way, and cut off everywhere.
fn commit_all(server: &RedisServer) -> (Vec<Account>, bool) {
    let proxies = [1, 2].map(|number| CuttingProxy::start(server.port(), TARGETS, SEED * number));
    let threads = proxies.iter().zip(OWN_USERS).zip(1..).map(|((proxy, own_user), number)| {
        let (url, seed) = (format!("redis://127.0.0.1:{}", proxy.port()), SEED * 100 + number);
        gateway::start(Plan { url, limits: LIMITS, seed, changes: CHANGES, own_user })
    });
    let threads: Vec<_> = threads.collect();
    let accounts: Vec<Account> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    let cuts = Cut::ALL.map(|cut| (cut, proxies.iter().map(|proxy| proxy.cuts(cut)).sum::<u64>()));
    eprintln!("{cuts:?}");
    let mut was_hard = cuts.iter().all(|(_, count)| *count > 0);
    for Account { groups, side_by_side, metrics } in &accounts {
        let repeated = groups.iter().filter(|group| group.nows.len() > 1).count();
        let (conflicts, found) = (metrics.conflicts.get(), metrics.repeats_found.get());
        let (hits, misses, rows) = (metrics.hits.get(), metrics.misses.get(), metrics.rows_loaded.get());
        eprintln!("{} groups, {side_by_side} side by side, {repeated} repeated", groups.len());
        eprintln!("{conflicts} conflicts, {found} found, {hits} hits, {misses} misses, {rows} rows");
        was_hard &= conflicts > 1_000 && found > 20 && hits > 1_000 && misses > 1_000 && rows > 1_000;
        was_hard &= repeated > 20 && *side_by_side > 1;
    }
    (accounts, was_hard)
}

fn replay_all(accounts: Vec<Account>, writes: &[Write]) -> (BTreeMap<UserId, Book>, Tally) {
    let users = (0..USERS).map(UserId).chain(OWN_USERS);
    let mut books: BTreeMap<UserId, Book> = users.map(|user| (user, Book::new(LIMITS))).collect();
    let writers = OWN_USERS.map(|user| {
        let first = writes.iter().find(|write| write.user == user).expect("it is changed first");
        first.token().writer
    });
    assert_ne!(writers[0], writers[1]);
    for (gateway, account) in accounts.into_iter().enumerate() {
        for said in account.groups.into_iter().flat_map(Said::of) {
            books.get_mut(&said.user()).expect("a user of the scene").said(gateway, said);
        }
    }
    let mut tokens = HashSet::new();
    for write in writes {
        let token = write.token();
        assert!(tokens.insert(token), "a token was given out twice: {write:?}");
        let gateway = writers.iter().position(|writer| *writer == token.writer).expect("a writer of the scene");
        let written = books.get_mut(&write.user).expect("a user of the scene").write(gateway, write);
        written.unwrap_or_else(|why| panic!("user {}: {why}", write.user.0));
    }
    let mut all = Tally::default();
    for (user, book) in &mut books {
        all.add(book.replay().unwrap_or_else(|why| panic!("seed {SEED}, user {}: {why}", user.0)));
    }
    (books, all)
}
