//! Notices: `{h}:e`, in each shard a sorted set by when they are due.
//!
//! A notice of a position that is taken becomes another member: what a commit adds from then on is a notice of its own.
//! One gateway takes notices at a time. If two do nevertheless, something is told twice.

use std::sync::Arc;
use std::time::Duration;

use ::redis::{Pipeline, pipe};
use futures_util::future::join_all;
use parking_lot::Mutex;

use super::claims::{Words, words};
use super::keys::{self, Keys};
use super::{RedisStore, Shared};
use crate::{checked, joined, lease, value};
use model::notices::{Notice, Noticed};
use model::shard::{Shard, Shards};
use storage::hot_store::{Answer, StoreError};
use storage::notices::{FollowedNow, Notices, Taken, codec};
use storage::turn::Turn;

/// How long a turn lasts.
const TURN: Duration = Duration::from_secs(10);
/// Shards that are read in one step; commits get their turn between the steps.
const STEP_SHARDS: usize = 100;
/// Notices of a shard that are read in one step.
const SHARD_MAX: usize = 64;
/// When an unreadable one is looked at again, milliseconds. Another version may have written it.
const UNREADABLE_PAUSE: u64 = 60_000;

/// The shard that the next look begins with, so that each has its turn when there is much to tell.
#[derive(Default)]
pub struct NoticeLooks(Mutex<usize>);

/// The command that enters a notice; one that is there keeps its time if that is earlier.
pub fn enter(names: &Keys, noticed: &Noticed, due: u64) -> Words {
    let (key, due) = (names.notices(), due.to_string());
    words(&[b"ZADD", key.as_bytes(), b"LT", due.as_bytes(), &codec::encode(noticed)])
}

impl Shared {
    async fn take_notices(&self, now: u64, limit: usize) -> Result<Vec<Taken>, StoreError> {
        let mut shards: Vec<Shard> = Shards::DEFAULT.all().collect();
        let count = shards.len();
        shards.rotate_left(*self.noticed.0.lock() % count);
        let (mut taken, mut looked, mut away) = (Vec::new(), 0, None);
        for shards in shards.chunks_mut(STEP_SHARDS) {
            looked += shards.len();
            shards.sort_unstable();
            let parts = joined::split(&self.redis, shards, |shard| *shard, |_| 1).into_iter();
            for due in join_all(parts.map(|shards| self.take_of(shards, now))).await {
                match due {
                    Ok(due) => taken.extend(due),
                    // Those of a node that is away wait for it.
                    Err(error) => away = Some(error),
                }
            }
            if taken.len() >= limit {
                break;
            }
        }
        *self.noticed.0.lock() += looked;
        match away {
            Some(error) if taken.is_empty() => Err(error),
            _ => Ok(taken),
        }
    }

    /// From shards of one node.
    async fn take_of(&self, shards: &[Shard], now: u64) -> Result<Vec<Taken>, StoreError> {
        let mut commands = pipe();
        for shard in shards {
            commands.zrangebyscore_limit(Keys::of(*shard).notices(), "-inf", now, 0, SHARD_MAX as isize);
        }
        let (mut taken, mut moves) = (Vec::new(), pipe());
        for (shard, due) in shards.iter().zip(checked::ask(&self.redis, shards[0], commands).await?) {
            for member in value::array(due)? {
                let member = value::bytes(member)?;
                match codec::decode(&member) {
                    Ok(notice) => taken.push(move_aside(&mut moves, *shard, notice, member, now)),
                    Err(error) => {
                        tracing::error!(event = "notice_unreadable", %error, "unreadable notice skipped");
                        moves.zadd(Keys::of(*shard).notices(), member, now + UNREADABLE_PAUSE);
                    }
                }
            }
        }
        if moves.cmd_iter().next().is_some() {
            checked::ask(&self.redis, shards[0], moves).await?;
        }
        Ok(taken)
    }

    async fn remove_notices(&self, taken: Vec<Taken>) -> Result<(), StoreError> {
        let mut of_shards: Vec<_> =
            taken.into_iter().map(|taken| (keys::shard_of(taken.notice.user()), taken.key)).collect();
        of_shards.sort_by_key(|(shard, _)| *shard);
        let parts = joined::split(&self.redis, &mut of_shards, |(shard, _)| *shard, |_| 1).into_iter();
        let removed = join_all(parts.map(async |part| {
            let mut commands = pipe();
            for of_shard in part.chunk_by(|(one, _), (other, _)| one == other) {
                let members: Vec<&[u8]> = of_shard.iter().map(|(_, member)| &**member).collect();
                commands.zrem(Keys::of(of_shard[0].0).notices(), members);
            }
            checked::ask(&self.redis, part[0].0, commands).await.map(drop)
        }));
        removed.await.into_iter().collect()
    }
}

/// A notice of a position gets the member of one that is taken, before its own goes.
fn move_aside(moves: &mut Pipeline, shard: Shard, notice: Notice, member: Vec<u8>, now: u64) -> Taken {
    let key = match &notice {
        Notice::Position { user, content } if member[0] != codec::TAKEN => {
            let aside = codec::position(codec::TAKEN, *user, *content);
            let notices = Keys::of(shard).notices();
            moves.zadd(&notices, &aside[..], now).zrem(&notices, member);
            Arc::from(&aside[..])
        }
        _ => Arc::from(member),
    };
    Taken { notice, key }
}

impl Notices for RedisStore {
    fn followed(&self) -> &FollowedNow {
        &self.shared.users.store().followed
    }

    fn turn(&self) -> Answer<Turn> {
        let shared = self.shared.clone();
        Box::pin(async move {
            let key = Keys::of(keys::COMMON).notices_turn();
            lease::take(&shared.redis, keys::COMMON, &key, &shared.name, TURN).await
        })
    }

    fn take(&self, now: u64, limit: usize) -> Answer<Vec<Taken>> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.take_notices(now, limit).await })
    }

    fn remove(&self, taken: Vec<Taken>) -> Answer<()> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.remove_notices(taken).await })
    }
}
