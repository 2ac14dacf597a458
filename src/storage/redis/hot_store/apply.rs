//! Applies decisions: makes the arguments of `lua/commit.lua`, and reads its answer.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use ::redis::Value;

use super::claims::{self, Words, words};
use super::keys::{self, Keys};
use super::users::RedisUsers;
use super::{head, listed, looks, notices, row, scripts, timeline};
use crate::sums::pending;
use crate::{Call, Reply, Request, Swap, joined, value};
use model::ids::UserId;
use model::rewards::claim::ClaimKey;
use model::shard::Shard;
use storage::hot_store::StoreError;
use storage::hot_store::optimistic::{Applied, Apply, UserStore, Write};

/// The arguments of a call while it is made.
#[derive(Default)]
struct Arguments {
    users: Words,
    guards: Words,
    writes: Words,
    /// Writes that run after the heads.
    after_heads: Words,
    /// Claims of each shard, counted so far.
    claims: HashMap<Shard, u64>,
    /// All keys of the call.
    keys: BTreeSet<Vec<u8>>,
}

impl RedisUsers {
    /// Applies that change only a head are sent as swaps where the server supports them. The script does everything
    /// else, and the refused swaps.
    pub(super) async fn apply_all(&self, applies: &[&Apply]) -> Result<Vec<Applied>, StoreError> {
        let can_swap = self.redis.can_swap();
        let (mut swaps, mut others) = (Vec::new(), Vec::new());
        for (index, apply) in applies.iter().enumerate() {
            match can_swap.at(keys::shard_of(apply.user)).then(|| self.swap(apply)).flatten() {
                Some(swap) => swaps.push((index, swap)),
                None => others.push(index),
            }
        }
        let mut applied: Vec<Applied> = applies.iter().map(|_| Applied::Done { elsewhere: false }).collect();
        let refused = self.send(applies, swaps, others, &mut applied).await?;
        if !refused.is_empty() {
            self.send(applies, Vec::new(), refused, &mut applied).await?;
        }
        for (apply, _) in applies.iter().zip(&applied).filter(|(_, applied)| matches!(applied, Applied::Done { .. })) {
            self.note_rules(apply);
        }
        Ok(applied)
    }

    /// Sends swaps and script calls. Returns the indexes of refused swaps.
    async fn send(
        &self,
        applies: &[&Apply],
        swaps: Vec<(usize, Swap)>,
        mut others: Vec<usize>,
        applied: &mut [Applied],
    ) -> Result<Vec<usize>, StoreError> {
        let shard = |index: &usize| keys::shard_of(applies[*index].user);
        // They differ only while the generations change.
        let order = |index: &usize| applies[*index].generations.order();
        others.sort_by_key(|index| (order(index), shard(index)));
        let rows = |index: &usize| 1 + applies[*index].writes.len();
        let of_generations = others.chunk_by_mut(|one, other| order(one) == order(other));
        let parts = of_generations.flat_map(|others| joined::split(&self.redis, others, shard, rows));
        let parts: Vec<&mut [usize]> = parts.collect();
        let calls = parts.iter().map(|part| Request::Call(self.call(part, applies)));
        let (indexes, swaps): (Vec<usize>, Vec<Swap>) = swaps.into_iter().unzip();
        let requests = swaps.into_iter().map(Request::Swap).chain(calls).collect();
        let (mut indexes, mut parts, mut refused) = (indexes.into_iter(), parts.into_iter(), Vec::new());
        let mut outdated = Vec::new();
        for reply in self.redis.send(&scripts::COMMIT, requests).await {
            match reply? {
                Reply::Swapped(swapped) => {
                    let index = indexes.next().expect("each swap has an index");
                    match self.swapped(applies[index], swapped) {
                        Some(done) => applied[index] = done,
                        None => refused.push(index),
                    }
                }
                Reply::Called(answer) => {
                    let part = parts.next().expect("each call has a part");
                    if read_answer(part, answer, applied)? {
                        outdated.push(applies[part[0]].generations.order());
                    }
                }
            }
        }
        if let Some(newest) = outdated.into_iter().max() {
            self.read_generations().await?;
            if self.generations().order() <= newest {
                return Err(StoreError::Away("the shards do not name the generations of counters yet".to_owned()));
            }
        }
        Ok(refused)
    }

    /// Takes note of rules that are listed now, and whose filters exist if they have one.
    fn note_rules(&self, apply: &Apply) {
        for write in &apply.writes {
            let key = match write {
                Write::Claim { claim, kept: true, exact } if claim.key.content.is_none() || !exact => &claim.key,
                Write::View { key, kept: true, .. } => key,
                _ => continue,
            };
            self.rules_of_day.add(keys::shard_of(apply.user), key, Instant::now());
        }
    }

    fn call(&self, part: &[usize], applies: &[&Apply]) -> Call {
        let shards = joined::shards(part, |index| keys::shard_of(applies[*index].user));
        let mut arguments = Arguments::default();
        for (number, index) in part.iter().enumerate() {
            self.put(&mut arguments, number + 1, applies[*index]);
        }
        let own = part.iter().map(|index| self.follows_itself(applies[*index])).collect();
        let Arguments { users, guards, writes, after_heads, keys, .. } = arguments;
        // All users of a call have these.
        let pair = applies[part[0]].generations.pair();
        let mut args = vec![self.redis.deployment().as_bytes().to_vec(), own, pair.into_bytes()];
        args.extend(users);
        args.push(decimal(guards.len() as u64 / 3));
        args.extend(guards);
        args.push(decimal(writes.len() as u64));
        args.extend(writes);
        args.extend(after_heads);
        // In a Cluster the script must not start while its keys are moving to another node. Elsewhere naming the keys
        // has only a cost.
        let keys = if self.redis.joins_shards() { Vec::new() } else { keys.into_iter().collect() };
        Call { shards, keys, args }
    }

    /// The number of this gateway's subscriptions to the user: 0 or 1.
    pub(super) fn follows_itself(&self, apply: &Apply) -> u8 {
        u8::from(apply.news && (self.follows)(apply.user))
    }

    /// `number`: the index of the user in the call, from 1 on.
    fn put(&self, arguments: &mut Arguments, number: usize, apply: &Apply) {
        let Apply { user, head, writes, news, .. } = apply;
        let shard = keys::shard_of(*user);
        let names = Keys::of(shard);
        let mut token = Vec::new();
        apply.expected_token().into_iter().for_each(|expected| head::token(&mut token, expected));
        let channel = if *news { names.channel(*user).into_bytes() } else { Vec::new() };
        arguments.keys.insert(names.head(*user).into_bytes());
        // Without counters the key does not exist, and a slot that moves would not be written until it has moved.
        if apply.generations.newest() > 0 {
            arguments.keys.insert(names.pair().into_bytes());
        }
        arguments.users.push(names.head(*user).into_bytes());
        arguments.users.push(token);
        arguments.users.push(head.as_deref().map(head::encode).unwrap_or_default());
        arguments.users.push(channel);
        let claims = writes.iter().filter(|write| matches!(write, Write::Claim { .. })).count() as u64;
        if claims > 0 {
            let before = arguments.claims.entry(shard).or_default();
            *before += claims;
            // The outbox may have this many entries before the claims, so that all of them fit.
            let room = self.settings.outbox_per_shard().checked_sub(*before);
            let most = room.map_or_else(|| b"-1".to_vec(), decimal);
            arguments.keys.insert(names.outbox().into_bytes());
            arguments.guards.extend([decimal(number as u64), names.outbox().into_bytes(), most]);
        }
        for write in writes {
            let (commands, after_heads) = (self.commands(&names, *user, write), after_head(&names, *user, write));
            arguments.keys.extend(commands.iter().chain(&after_heads).flat_map(keys_of).cloned());
            put_commands(&mut arguments.writes, number, commands);
            put_commands(&mut arguments.after_heads, number, after_heads);
        }
    }

    fn commands(&self, names: &Keys, user: UserId, write: &Write) -> Vec<Words> {
        let (rows, timeline) = (names.rows(user), names.timeline(user));
        let (rows, timeline) = (rows.as_bytes(), timeline.as_bytes());
        match write {
            Write::Put { content, row } => {
                let (content, score) = (keys::content(*content), timeline::score(&row.row).to_string());
                vec![
                    words(&[b"HSET", rows, &content, &row::encode(row)]),
                    words(&[b"ZADD", timeline, score.as_bytes(), &content]),
                ]
            }
            Write::Enter { content, at, .. } => {
                vec![words(&[b"ZADD", timeline, at.to_string().as_bytes(), &keys::content(*content)])]
            }
            Write::Remove { .. } => Vec::new(),
            Write::RemoveAll => vec![words(&[b"UNLINK", rows, timeline])],
            Write::List { .. } | Write::Mark { .. } | Write::Unlist => listed::commands(names, user, write),
            Write::ColdFilter { filter } => {
                let key = names.cold_filter(user);
                vec![match filter {
                    Some(filter) => words(&[b"SET", key.as_bytes(), filter]),
                    None => words(&[b"UNLINK", key.as_bytes()]),
                }]
            }
            Write::LookAt { at, exact } => vec![looks::enter(names, user, *at, *exact)],
            Write::RemoveUser => looks::remove(names, user),
            Write::Notice { noticed, due } => vec![notices::enter(names, noticed, *due)],
            Write::Claim { claim, kept: false, .. } => vec![claims::publish(names, claim)],
            Write::Claim { claim, exact, kept: true } => {
                let filter = self.calendar.filter(&claim.key);
                let first = !self.rules_of_day.has(keys::shard_of(user), &claim.key, Instant::now());
                let mut commands = claims::keep(names, &claim.key, *exact, first, filter.as_ref());
                commands.push(claims::publish(names, claim));
                commands
            }
            Write::View { kept: false, .. } | Write::Count { .. } => Vec::new(),
            Write::View { key, kept: true, .. } => {
                let first = !self.rules_of_day.has(keys::shard_of(user), key, Instant::now());
                claims::keep(names, key, true, first, None)
            }
            Write::RemoveClaims { rules } => {
                let claimant = keys::claimant(user);
                let set = |(day, rule): &(_, std::sync::Arc<str>)| {
                    words(&[b"SREM", names.claimants(*day, rule).as_bytes(), claimant.as_bytes()])
                };
                let mut days: Vec<_> = rules.iter().map(|(day, _)| *day).collect();
                days.dedup();
                let hash = |day| words(&[b"UNLINK", names.contents_claimed(day, user).as_bytes()]);
                rules.iter().map(set).chain(days.into_iter().map(hash)).collect()
            }
        }
    }
}

/// True: the generations of counters have changed.
fn read_answer(part: &[usize], answer: Value, applied: &mut [Applied]) -> Result<bool, StoreError> {
    const MALFORMED: super::bytes::DecodeError = super::bytes::DecodeError("an answer");
    let [refused, followed, outdated] = <[Value; 3]>::try_from(value::array(answer)?).map_err(|_| MALFORMED)?;
    let (mut refused, followed) = (value::array(refused)?.into_iter(), value::array(followed)?);
    let index = |number: Value| -> Result<usize, StoreError> {
        let number = value::number(number)? as usize;
        Ok(*part.get(number.wrapping_sub(1)).ok_or(MALFORMED)?)
    };
    while let (Some(number), Some(present)) = (refused.next(), refused.next()) {
        applied[index(number)?] = match value::bytes_or_nil(present)? {
            None => Applied::Refused(None),
            Some(head) if head.is_empty() => Applied::NoRoom,
            Some(head) if head == b"?" => Applied::Unreadable("a key of the user has another type".to_owned()),
            Some(head) => match head::decode(&head) {
                Ok(head) => Applied::Refused(Some(Box::new(head))),
                Err(error) => Applied::Unreadable(error.to_string()),
            },
        };
    }
    for number in followed {
        applied[index(number)?] = Applied::Done { elsewhere: true };
    }
    Ok(value::number(outdated)? == 1)
}

/// The commands that run after the new head is written: they remove rows that the head holds now, and add a view, which
/// a repetition of the call would add again.
fn after_head(names: &Keys, user: UserId, write: &Write) -> Vec<Words> {
    let (rows, timeline) = (names.rows(user), names.timeline(user));
    match write {
        Write::Enter { content, stored: true, .. } => {
            vec![words(&[b"HDEL", rows.as_bytes(), &keys::content(*content)])]
        }
        Write::Remove { content } => {
            let content = keys::content(*content);
            vec![words(&[b"HDEL", rows.as_bytes(), &content]), words(&[b"ZREM", timeline.as_bytes(), &content])]
        }
        Write::Unlist => listed::leave(names, user),
        Write::View { key: ClaimKey { content: Some(content), day, .. }, at, .. } => {
            pending::add_view(keys::shard_of(user), *content, *day, *at).into()
        }
        Write::Count { generation, deltas, at } => pending::add_counter(keys::shard_of(user), *generation, deltas, *at),
        _ => Vec::new(),
    }
}

/// The keys of a command: one, except for `UNLINK`.
fn keys_of(command: &Words) -> &[Vec<u8>] {
    match &command[0][..] {
        b"UNLINK" => &command[1..],
        _ => &command[1..2],
    }
}

fn put_commands(words: &mut Words, number: usize, commands: Vec<Words>) {
    for command in commands {
        words.extend([decimal(number as u64), decimal(command.len() as u64)]);
        words.extend(command);
    }
}

fn decimal(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}
