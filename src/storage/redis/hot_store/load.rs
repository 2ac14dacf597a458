//! Reads the state that a decision needs: for each user the head and further rows, in one pipeline for each shard or,
//! where shards may be asked together, for many shards.
//!
//! Reads do not check the deployment key. The decision is applied by a script that checks it, or over a head that only
//! this deployment can have written.

use ::redis::{Pipeline, Value, pipe};
use futures_util::future::try_join_all;

use super::bytes::DecodeError;
use super::filter::BitPositions;
use super::keys::{self, Keys};
use super::users::RedisUsers;
use super::{claims, head, listed, row, timeline};
use crate::{joined, value};
use model::forgetting::Eviction;
use model::ids::{Content, UserId};
use model::rewards::day::Day;
use storage::hot_store::cold_filter::ColdFilter;
use storage::hot_store::optimistic::{Dead, Load, Loaded, Need};
use storage::hot_store::{CLAIM_DAYS, StoreError};

/// Dead records that one step reads at most, and the same number of dead tombstones.
const DEAD_MAX: usize = 128;
/// Rows that are read in one step.
const ROWS_MAX: usize = 256;

/// A user's part of a pipeline.
struct Asked<'l> {
    load: &'l Load,
    /// The contents whose rows are needed; they are read together.
    rows: Vec<Content>,
    /// The number of commands in the user's part.
    commands: usize,
    claim_days: Vec<Day>,
    /// The bit positions in filters of the needed claims, in their order.
    filters: Vec<Option<BitPositions>>,
}

impl RedisUsers {
    pub(super) async fn load_all(&self, loads: &[Load]) -> Result<Vec<Loaded>, StoreError> {
        let mut order: Vec<usize> = (0..loads.len()).collect();
        let shard = |index: &usize| keys::shard_of(loads[*index].user);
        order.sort_by_key(shard);
        let parts = joined::split(&self.redis, &mut order, shard, |_| 1).into_iter();
        let parts = try_join_all(parts.map(async |part| {
            let loads: Vec<&Load> = part.iter().map(|index| &loads[*index]).collect();
            Ok::<_, StoreError>((part.to_vec(), self.load_part(&loads).await?))
        }));
        let mut answers: Vec<Option<Loaded>> = loads.iter().map(|_| None).collect();
        for (indexes, loaded) in parts.await? {
            indexes.into_iter().zip(loaded).for_each(|(index, loaded)| answers[index] = Some(loaded));
        }
        Ok(answers.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Loads users whose shards may be asked together.
    async fn load_part(&self, loads: &[&Load]) -> Result<Vec<Loaded>, StoreError> {
        let home = keys::shard_of(loads[0].user);
        let mut pipeline = pipe();
        let asked: Vec<Asked> = loads.iter().map(|load| self.ask(load, &mut pipeline)).collect();
        let mut answers = self.redis.ask(home, pipeline).await?.into_iter();
        let mut loaded = Vec::with_capacity(loads.len());
        for asked in &asked {
            let answers: Vec<Value> = answers.by_ref().take(asked.commands).collect();
            loaded.push(Self::read(asked, &mut answers.into_iter()).unwrap_or_else(|error| {
                (Loaded { unreadable: Some(error.to_string()), ..Loaded::default() }, Vec::new())
            }));
        }
        self.load_named(loads, &mut loaded).await?;
        Ok(loaded.into_iter().map(|(loaded, _)| loaded).collect())
    }

    /// Loads the rows of contents that the timeline has returned.
    async fn load_named(&self, loads: &[&Load], loaded: &mut [(Loaded, Vec<Content>)]) -> Result<(), StoreError> {
        let mut parts: Vec<(usize, &[Content])> = Vec::new();
        let all: Vec<Vec<Content>> = loaded.iter_mut().map(|(_, named)| std::mem::take(named)).collect();
        for (index, named) in all.iter().enumerate() {
            parts.extend(named.chunks(ROWS_MAX).map(|part| (index, part)));
        }
        // All rows of an erased user are read: other reads get their turn between the steps.
        let mut rest = &parts[..];
        while !rest.is_empty() {
            let so_far = rest.iter().scan(0, |read, (_, part)| Some(std::mem::replace(read, *read + part.len())));
            let (now, later) = rest.split_at(so_far.take_while(|read| *read < ROWS_MAX).count());
            rest = later;
            let mut pipeline = pipe();
            now.iter().for_each(|(index, part)| rows(&mut pipeline, loads[*index].user, part));
            let mut answers = self.redis.ask(keys::shard_of(loads[0].user), pipeline).await?.into_iter();
            for (index, part) in now {
                let loaded = &mut loaded[*index].0;
                match parse_rows(part, answers.next()) {
                    Ok(rows) => loaded.rows.extend(rows),
                    Err(error) => loaded.unreadable = Some(error.to_string()),
                }
            }
        }
        Ok(())
    }

    fn ask<'l>(&self, load: &'l Load, pipeline: &mut Pipeline) -> Asked<'l> {
        let Load { user, needs } = load;
        let names = Keys::of(keys::shard_of(*user));
        let before = pipeline.cmd_iter().count();
        let mut asked = Asked { load, rows: Vec::new(), commands: 0, claim_days: Vec::new(), filters: Vec::new() };
        for need in needs {
            match need {
                Need::Head => drop(pipeline.get(names.head(*user))),
                Need::Row(content) => asked.rows.push(*content),
                Need::ColdFilter => drop(pipeline.get(names.cold_filter(*user))),
                Need::Contents => drop(pipeline.zcard(names.timeline(*user))),
                Need::First(count) | Need::Oldest(count) => {
                    let last = *count as isize - 1;
                    pipeline.zrange_withscores(names.timeline(*user), 0, last);
                }
                Need::Newest(count) => newest(pipeline, &names.timeline(*user), "+inf", "0", *count),
                Need::All => drop(pipeline.zrange(names.timeline(*user), 0, -1)),
                Need::Marked => drop(pipeline.zrange(names.marks(*user), 0, -1)),
                Need::Claim(key) => {
                    let filter = self.calendar.filter(key);
                    claims::ask(pipeline, &names, key, filter.as_ref());
                    asked.filters.push(filter);
                }
                Need::ClaimRules => {
                    asked.claim_days = self.claim_days().collect();
                    for day in &asked.claim_days {
                        pipeline.hkeys(names.rules(*day));
                    }
                }
                Need::Dead(records, tombstones) => {
                    let deleted = timeline::score_of(Eviction { has_record: false, newest: *tombstones });
                    let mut first = |from: &str, to: &str, count: usize| {
                        let command = pipeline.cmd("ZRANGEBYSCORE").arg(names.timeline(*user)).arg(from).arg(to);
                        command.arg("WITHSCORES").arg("LIMIT").arg(0).arg(count);
                    };
                    first("0", &records.to_string(), DEAD_MAX);
                    first("-inf", &format!("({deleted}"), DEAD_MAX);
                    first(&format!("({records}"), "+inf", 1);
                    first(&deleted.to_string(), "(0", 1);
                }
            }
        }
        if !asked.rows.is_empty() {
            rows(pipeline, *user, &asked.rows);
        }
        asked.commands = pipeline.cmd_iter().count() - before;
        asked
    }

    /// Reads the answers. Also returns the contents from the timeline whose rows are needed.
    fn read(
        asked: &Asked<'_>,
        answers: &mut impl Iterator<Item = Value>,
    ) -> Result<(Loaded, Vec<Content>), DecodeError> {
        let (mut loaded, mut named) = (Loaded::default(), Vec::new());
        let mut next = || answers.next().ok_or(DecodeError("an answer"));
        let mut filters = asked.filters.iter();
        for need in &asked.load.needs {
            match need {
                Need::Head => {
                    let bytes = value::bytes_or_nil(next()?)?;
                    loaded.head = Some(bytes.as_deref().map(head::decode).transpose()?.map(Box::new));
                }
                Need::Row(_) => {}
                Need::ColdFilter => loaded.cold_filter = Some(cold_filter(next()?)?),
                Need::Contents => loaded.contents = Some(value::number(next()?)? as u32),
                Need::First(count) | Need::Oldest(count) => {
                    let oldest = timeline::parse(next()?)?;
                    if *count > 1 && matches!(need, Need::Oldest(_)) {
                        named.extend(oldest.iter().map(|(_, content)| *content));
                    }
                    let all = oldest.len() < *count;
                    loaded.oldest = Some((oldest, all));
                }
                Need::Newest(count) => {
                    let newest = timeline::parse(next()?)?;
                    let all = newest.len() < *count;
                    let newest = newest.into_iter().map(|(eviction, content)| (eviction.newest, content));
                    loaded.newest = Some((newest.collect(), all));
                }
                Need::All => {
                    for member in value::array(next()?)? {
                        named.push(keys::content_of(&value::bytes(member)?).ok_or(DecodeError("a timeline"))?);
                    }
                    loaded.all = true;
                }
                Need::Claim(key) => {
                    let filter = filters.next().and_then(Option::as_ref);
                    loaded.claims.push(claims::read(key, filter, &mut next)?);
                }
                Need::ClaimRules => {
                    let mut rules = Vec::new();
                    for day in &asked.claim_days {
                        rules.extend(value::texts(next()?)?.into_iter().map(|id| (*day, id.into())));
                    }
                    loaded.claim_rules = Some(rules);
                }
                Need::Marked => {
                    let marked = listed::parse(next()?)?;
                    named.extend(&marked.contents);
                    loaded.marked = Some(marked);
                }
                Need::Dead(records, tombstones) => {
                    let mut first = || timeline::parse(next()?);
                    let dead = [first()?, first()?];
                    let stays = [first()?, first()?].map(|found| found.first().map(|(eviction, _)| eviction.newest));
                    let more = dead.iter().any(|found| found.len() == DEAD_MAX);
                    let contents: Vec<Content> = dead.into_iter().flatten().map(|(_, content)| content).collect();
                    named.extend(&contents);
                    loaded.dead = Some(Dead { asked: (*records, *tombstones), contents, more, next: stays });
                }
            }
        }
        if !asked.rows.is_empty() {
            loaded.rows = parse_rows(&asked.rows, Some(next()?))?;
        }
        Ok((loaded, named))
    }

    /// The days whose claims may be kept; another gateway may be a day ahead.
    fn claim_days(&self) -> impl Iterator<Item = Day> {
        let newest = self.calendar.newest().map_or(0, Day::number);
        (newest.saturating_sub(CLAIM_DAYS + 1)..=newest.saturating_add(1)).map(Day::of_number)
    }
}

/// `None`: there is no filter.
pub(super) fn cold_filter(answer: Value) -> Result<Option<ColdFilter>, DecodeError> {
    let bytes = value::bytes_or_nil(answer)?;
    bytes.map(|bytes| ColdFilter::from_bytes(bytes).map_err(|_| DecodeError("a cold filter"))).transpose()
}

fn newest(pipeline: &mut Pipeline, timeline: &str, from: &str, to: &str, count: usize) {
    let command = pipeline.cmd("ZREVRANGEBYSCORE").arg(timeline).arg(from).arg(to).arg("WITHSCORES");
    command.arg("LIMIT").arg(0).arg(count);
}

fn rows(pipeline: &mut Pipeline, user: UserId, contents: &[Content]) {
    let fields: Vec<_> = contents.iter().map(|content| keys::content(*content).to_vec()).collect();
    pipeline.cmd("HMGET").arg(Keys::of(keys::shard_of(user)).rows(user)).arg(fields);
}

type Rows = Vec<(Content, Option<storage::hot_store::optimistic::StoredRow>)>;

fn parse_rows(contents: &[Content], answer: Option<Value>) -> Result<Rows, DecodeError> {
    let values = value::array(answer.unwrap_or(Value::Nil))?;
    let row = |(content, bytes): (&Content, Value)| {
        let bytes = value::bytes_or_nil(bytes)?;
        Ok((*content, bytes.map(|bytes| row::parse(*content, &bytes)).transpose()?))
    };
    contents.iter().zip(values).map(row).collect()
}
