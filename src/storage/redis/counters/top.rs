//! The largest values of a counter, of all shards: the first of each, and further ones of those that may have more.

use std::collections::HashSet;

use ::redis::{Value, pipe};
use futures_util::future::join_all;

use super::keys;
use super::words::number;
use crate::value::{self, DecodeError};
use crate::{Redis, checked, joined};
use model::counters::top::Top;
use model::counters::{CounterId, CounterKey};
use model::shard::{Shard, Shards};
use storage::store_error::StoreError;

/// Keys that are read of each shard at first; mostly none has more of the largest.
const FIRST_PAGE: usize = 16;
const NEXT_PAGE: usize = 256;
/// Shards that are read together; commits get their turn in between.
const STEP_SHARDS: usize = 100;

const MALFORMED: DecodeError = DecodeError("the keys of a counter");

/// How far a shard is read.
struct Scan {
    shard: Shard,
    read: usize,
    /// It has none that would be among the largest.
    done: bool,
}

/// Returns the keys with the highest values. A key that changes meanwhile is there with its value before or after; one
/// that moves from one page to another may be left out.
pub async fn top(
    redis: &Redis,
    counter: &CounterId,
    prefix: &CounterKey,
    limit: usize,
) -> Result<Vec<(CounterKey, i64)>, StoreError> {
    let mut scans: Vec<Scan> = Shards::DEFAULT.all().map(|shard| Scan { shard, read: 0, done: false }).collect();
    let (mut top, mut page) = (Top::new(limit), FIRST_PAGE);
    while !scans.is_empty() {
        for step in scans.chunks_mut(STEP_SHARDS) {
            let parts = joined::split(redis, step, |scan| scan.shard, |_| 1).into_iter();
            let read = join_all(parts.map(async |part| (read(redis, counter, part, page).await, part)));
            for of_part in read.await {
                let (answers, part) = of_part;
                for (scan, answer) in part.iter_mut().zip(answers?) {
                    scan.take(answer, page, prefix, &mut top)?;
                }
            }
        }
        scans.retain(|scan| !scan.done);
        page = NEXT_PAGE;
    }
    let mut all = top.into_sorted();
    let mut keys = HashSet::new();
    // A key that has moved is there twice.
    all.retain(|(key, _)| keys.insert(key.clone()));
    Ok(all)
}

async fn read(redis: &Redis, counter: &CounterId, part: &[Scan], page: usize) -> Result<Vec<Value>, StoreError> {
    let mut commands = pipe();
    for Scan { shard, read, .. } in part {
        let range = commands.cmd("ZRANGE").arg(keys::values(*shard, counter));
        range.arg(*read).arg(read + page - 1).arg("WITHSCORES");
    }
    checked::ask(redis, part[0].shard, commands).await
}

impl Scan {
    fn take(&mut self, answer: Value, page: usize, prefix: &CounterKey, top: &mut Top) -> Result<(), DecodeError> {
        let mut words = value::array(answer)?.into_iter();
        let (mut count, mut may_have_more) = (0, false);
        while let (Some(member), Some(score)) = (words.next(), words.next()) {
            let key = String::from_utf8(value::bytes(member)?).map_err(|_| MALFORMED)?;
            let (key, value) = (CounterKey::of_encoded(&key), -number(&score)?);
            count += 1;
            // Those after it are no larger.
            may_have_more = top.takes(&key, value);
            if key.begins_with(prefix) {
                top.add(key, value);
            }
        }
        self.read += count;
        self.done = count < page || !may_have_more;
        Ok(())
    }
}
