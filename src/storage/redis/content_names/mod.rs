//! The texts of contents in the Redis that gateways share.
//!
//! | key | what | type |
//! |---|---|---|
//! | `{h}:content:OID` | of each content whose number is of the shard: the text, which expires | string |
//! | `{h0}:contentnames` | there: contents are named by texts | string |

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use ::redis::{Script, pipe};
use futures_util::future::try_join_all;

use crate::script::script;
use crate::value::{self, DecodeError};
use crate::{Call, Redis, checked, tag};
use model::content_name::ContentName;
use model::ids::UserId;
use model::shard::{Shard, Shards};
use storage::content_names::{ContentNames, KEPT_LONGER};
use storage::store_error::{Answer, StoreError};

static KEEP: LazyLock<Script> = LazyLock::new(|| script(include_str!("keep.lua")));
static MARK: LazyLock<Script> = LazyLock::new(|| script("return redis.call('SET', tag .. ':contentnames', '1')"));

/// The shard of the mark.
const COMMON: Shard = Shard(0);
/// Texts that are kept or asked for in one command.
const TOGETHER_MAX: usize = 512;

/// Cheap to clone.
#[derive(Clone)]
pub struct RedisContentNames {
    redis: Redis,
    /// Milliseconds; 0: for good.
    kept_for: u64,
}

/// Parts of a request, each of one shard: the indexes of what was asked.
type Parts = Vec<(Shard, Vec<usize>)>;

impl RedisContentNames {
    /// Whether they were ever opened here.
    pub async fn are_kept(redis: &Redis) -> Result<bool, StoreError> {
        let mut commands = pipe();
        commands.exists(format!("{}:contentnames", tag(COMMON)));
        Ok(value::number(checked::ask(redis, COMMON, commands).await?.swap_remove(0))? > 0)
    }

    /// `retention`: how long records are there; zero: for good.
    pub async fn open(redis: Redis, retention: Duration) -> Result<Self, StoreError> {
        let args = vec![redis.deployment().as_bytes().to_vec()];
        redis.run(&MARK, vec![Call::of(COMMON, args)]).await?;
        let kept_for = if retention.is_zero() { 0 } else { (retention + KEPT_LONGER).as_millis() as u64 };
        Ok(RedisContentNames { redis, kept_for })
    }

    async fn keep(&self, names: &[ContentName]) -> Result<Vec<ContentName>, StoreError> {
        let oids: Vec<u64> = names.iter().map(ContentName::oid).collect();
        let parts = parts(&oids);
        let call = |(shard, indexes): &(Shard, Vec<usize>)| {
            let mut args = vec![self.redis.deployment().as_bytes().to_vec(), self.kept_for.to_string().into_bytes()];
            for index in indexes {
                args.push(oids[*index].to_string().into_bytes());
                args.push(names[*index].as_str().as_bytes().to_vec());
            }
            Call::of(*shard, args)
        };
        let answers = self.redis.run(&KEEP, parts.iter().map(call).collect()).await?;
        let mut kept = names.to_vec();
        for ((_, indexes), answer) in parts.iter().zip(answers) {
            let texts = value::array(answer)?;
            if texts.len() != indexes.len() {
                return Err(DecodeError("texts of contents").into());
            }
            for (index, text) in indexes.iter().zip(texts) {
                kept[*index] = content_name(&value::bytes(text)?)?;
            }
        }
        Ok(kept)
    }

    async fn texts(&self, oids: &[u64]) -> Result<Vec<Option<ContentName>>, StoreError> {
        let read = parts(oids).into_iter().map(async |(shard, indexes)| {
            let mut commands = pipe();
            let keys: Vec<_> = indexes.iter().map(|index| format!("{}:content:{}", tag(shard), oids[*index])).collect();
            commands.cmd("MGET").arg(keys);
            let texts = value::array(checked::ask(&self.redis, shard, commands).await?.swap_remove(0))?;
            let texts = texts.into_iter().map(value::bytes_or_nil).collect::<Result<Vec<_>, _>>()?;
            match texts.len() == indexes.len() {
                true => Ok(indexes.into_iter().zip(texts).collect::<Vec<_>>()),
                false => Err(StoreError::from(DecodeError("texts of contents"))),
            }
        });
        let mut found = vec![None; oids.len()];
        for (index, text) in try_join_all(read).await?.into_iter().flatten() {
            found[index] = text.map(|text| content_name(&text)).transpose()?;
        }
        Ok(found)
    }
}

impl ContentNames for RedisContentNames {
    fn keep(&self, names: Vec<ContentName>) -> Answer<Vec<ContentName>> {
        let own = self.clone();
        Box::pin(async move { own.keep(&names).await })
    }

    fn texts(&self, oids: Vec<u64>) -> Answer<Vec<Option<ContentName>>> {
        let own = self.clone();
        Box::pin(async move { own.texts(&oids).await })
    }
}

/// The shard of a content's text: that of a user of this number.
fn shard_of(oid: u64) -> Shard {
    Shards::DEFAULT.of(UserId(oid))
}

fn parts(oids: &[u64]) -> Parts {
    let mut of_shards = BTreeMap::<Shard, Vec<usize>>::new();
    oids.iter().enumerate().for_each(|(index, oid)| of_shards.entry(shard_of(*oid)).or_default().push(index));
    let parts = of_shards.into_iter().flat_map(|(shard, indexes)| {
        indexes.chunks(TOGETHER_MAX).map(|part| (shard, part.to_vec())).collect::<Vec<_>>()
    });
    parts.collect()
}

fn content_name(text: &[u8]) -> Result<ContentName, DecodeError> {
    let name = std::str::from_utf8(text).ok().and_then(|text| ContentName::new(text).ok());
    name.ok_or(DecodeError("the text of a content"))
}
