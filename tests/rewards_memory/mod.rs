//! What the memory of rewards takes, by the resident memory of a process that does nothing else: other tests run in
//! another.
//!
//! The figures are in `docs/rewards.md`; `cargo test --test library rewards_memory -- --nocapture` prints them.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use heartline::domain::rewards::config::RewardsConfig;
use heartline::domain::rewards::memory::{LookupReason, Memory, estimate};
use heartline::model::ids::{Content, UserId};
use heartline::model::rewards::calendar::RewardDay;
use heartline::model::rewards::day::Day;
use heartline::model::rewards::rule::{Per, RewardRule, RuleMemory, RuleSet, Rules};
use heartline::model::shard::Shards;
use prometheus_client::registry::Registry;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const PAGE_BYTES: u64 = 4096;
const CLAIMS: u64 = 1_000_000;
const CONTENT: Content = Content { kind: 1, oid: 100 };

fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").expect("Linux with /proc mounted");
    let pages: Vec<u64> = text.split_whitespace().map_while(|pages| pages.parse().ok()).collect();
    // Without pages of files: code is loaded when it first runs, which is no memory of rewards.
    (pages[1] - pages[2]) * PAGE_BYTES
}

fn memory(rule: RewardRule, recent_users: usize) -> Memory {
    let remembered_claims = CLAIMS as usize;
    let config =
        RewardsConfig { zone: "UTC".to_owned(), rules: Vec::new(), recent_users, remembered_claims, outbox: 1 };
    Memory::new(Arc::new(Rules::new(vec![rule])), Shards::DEFAULT, &config, &mut Registry::default())
}

fn rule(per: Per, memory: RuleMemory) -> RewardRule {
    RewardRule { id: "rule".into(), per, kinds: Vec::new(), watched: Duration::ZERO, memory }
}

/// Bytes for each of `count` when `each` of them is done.
fn bytes_each(count: u64, mut each: impl FnMut()) -> f64 {
    let before = resident();
    (0..count).for_each(|_| each());
    (resident() - before) as f64 / count as f64
}

/// Bytes for each claim of a rule per user.
fn per_user(count: u64, mut next: impl FnMut() -> u64) -> f64 {
    let memory = memory(rule(Per::User, RuleMemory::Exact), 1);
    let bytes = bytes_each(count, || memory.mark(0, UserId(next()), CONTENT, Day::of_number(1)));
    // It goes where the other measurements cannot take it from.
    Box::leak(Box::new(memory));
    bytes
}

fn per_content() -> (f64, f64) {
    let memory = memory(rule(Per::Content, RuleMemory::Bloom { expected: CLAIMS, probability: 0.01 }), 1);
    let estimate = memory.estimates()[0].bytes as f64 / CLAIMS as f64;
    let mut random = StdRng::seed_from_u64(3);
    let measured = bytes_each(CLAIMS, || memory.mark(0, UserId(random.random()), CONTENT, Day::of_number(1)));
    Box::leak(Box::new(memory));
    (measured, estimate)
}

fn recent_user() -> f64 {
    let memory = memory(rule(Per::User, RuleMemory::Exact), 100_000);
    let today = RewardDay { day: Day::of_number(1), rules: RuleSet::NONE, zone: "UTC".into() };
    let mut random = StdRng::seed_from_u64(4);
    // Twice as many as are kept: growing on would show.
    let mut ask = || memory.user_rules(UserId(random.random()), &today, LookupReason::Beat);
    2.0 * bytes_each(200_000, || assert!(ask().decided.is_empty()))
}

#[test]
fn rewards_take_the_documented_memory() {
    let mut alone = Command::new(std::env::current_exe().expect("this program"));
    let output = alone.args(["--exact", "rewards_memory::measured_alone", "--ignored", "--nocapture"]).output();
    let output = output.expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "other tests would be measured, too: rewards_take_the_documented_memory starts it"]
fn measured_alone() {
    let mut dense = 0..;
    let dense = per_user(CLAIMS, || dense.next().expect("a number"));
    let mut random = StdRng::seed_from_u64(1);
    let random_32 = per_user(CLAIMS, || random.random::<u32>().into());
    let mut random = StdRng::seed_from_u64(2);
    let random_64 = per_user(CLAIMS / 4, || random.random());
    let (filter, estimated) = per_content();
    let recent = recent_user();
    println!("bytes a claim in the bitmaps: {dense:.1} dense, {random_32:.1} of 32 bits, {random_64:.1} of 64 bits");
    println!("bytes a claim in the filters: {filter:.2}, {estimated:.2} estimated");
    println!("bytes a recent user: {recent:.0}");
    let said = |measured: f64, bytes: u64| measured > 0.7 * bytes as f64 && measured < 1.1 * bytes as f64;
    assert!(said(dense, estimate::DENSE_CLAIM_BYTES), "{dense} bytes a dense claim");
    assert!(said(random_64, estimate::RANDOM_CLAIM_BYTES), "{random_64} bytes a random claim");
    assert!(dense < random_32 && random_32 < random_64, "{random_32} bytes a claim of 32 bits");
    assert!(filter / estimated > 0.85 && filter / estimated < 1.1, "{filter} bytes a claim, {estimated} estimated");
    assert!(said(recent, estimate::RECENT_USER_BYTES), "{recent} bytes a recent user");
}
