//! The list in the Redis that the gateways share.
//!
//! One hash under the tag of one shard, so that the scripts that change it see by the deployment key whether Redis was
//! wiped, as those of the hot store do:
//!
//! | field | value |
//! |---|---|
//! | `u<mid>`, `t<jti>` | `at_ms` in 20 digits, then `until_ms` in 20 digits if it has one |
//! | `edition` | how many changes there were |

use std::sync::LazyLock;

use redis::{Pipeline, Script, Value, from_redis_value};
use tokio::runtime::Builder;

use super::{Edition, ListError, REVOCATIONS_MAX, RevocationList};
use crate::model::ids::UserId;
use crate::model::revocation::{Revocation, Revoked};
use crate::model::shard::Shard;
use crate::storage::redis::{Call, Redis, tag};

const HOME: Shard = Shard(0);
const EDITION: &str = "edition";
/// As many as a `u64` may have.
const DIGITS: usize = 20;

static ADD: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("add.lua")));
static REMOVE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("remove.lua")));

pub struct RedisList {
    redis: Redis,
}

impl RedisList {
    pub fn of(redis: Redis) -> Self {
        RedisList { redis }
    }

    async fn read(&self, known: Option<Edition>) -> Result<Option<(Edition, Vec<Revocation>)>, ListError> {
        let mut edition = Pipeline::new();
        edition.cmd("HGET").arg(key()).arg(EDITION);
        let answer = self.ask(edition).await?;
        let edition: Option<Edition> = from_redis_value(answer).map_err(damaged)?;
        if known.is_some() && known == Some(edition.unwrap_or(0)) {
            return Ok(None);
        }
        if edition.is_none() && known.is_some() {
            // Going on with an empty list would accept revoked tokens.
            return Err(broken("is missing"));
        }
        let mut all = Pipeline::new();
        all.cmd("HGETALL").arg(key());
        let fields: Vec<(String, String)> = from_redis_value(self.ask(all).await?).map_err(damaged)?;
        let mut edition = 0;
        let mut revocations = Vec::with_capacity(fields.len());
        for (field, value) in fields {
            match field.as_str() {
                EDITION => edition = value.parse().map_err(damaged)?,
                field => revocations.push(parse(field, &value).ok_or_else(|| damaged("unknown field"))?),
            }
        }
        Ok(Some((edition, revocations)))
    }

    async fn ask(&self, commands: Pipeline) -> Result<Value, ListError> {
        let answers = self.redis.ask(HOME, commands).await.map_err(unreachable)?;
        answers.into_iter().next().ok_or_else(|| damaged("no answer"))
    }

    async fn run(&self, script: &Script, arguments: Vec<String>) -> Result<Value, ListError> {
        let own = [self.redis.deployment().to_string(), key()];
        let args = own.into_iter().chain(arguments).map(String::into_bytes).collect();
        let answers = self.redis.run(script, vec![Call::of(HOME, args)]).await.map_err(unreachable)?;
        answers.into_iter().next().ok_or_else(|| damaged("no answer"))
    }
}

impl RevocationList for RedisList {
    fn load(&self, known: Option<Edition>) -> Result<Option<(Edition, Vec<Revocation>)>, ListError> {
        wait(self.read(known))
    }

    fn add(&self, revocation: &Revocation, now_ms: u64) -> Result<Revocation, ListError> {
        let (field, value) = (field(&revocation.what), value(revocation));
        let arguments = vec![field.clone(), value, format!("{now_ms:020}"), REVOCATIONS_MAX.to_string()];
        match wait(self.run(&ADD, arguments))? {
            Value::Nil => Err(ListError::Full),
            stands => {
                let stands: String = from_redis_value(stands).map_err(damaged)?;
                parse(&field, &stands).ok_or_else(|| damaged("unreadable value"))
            }
        }
    }

    fn remove(&self, what: &Revoked) -> Result<(), ListError> {
        wait(self.run(&REMOVE, vec![field(what)])).map(drop)
    }
}

/// The connections have a thread of their own; this one only waits, and is given time-outs.
fn wait<T>(work: impl Future<Output = Result<T, ListError>>) -> Result<T, ListError> {
    let runtime = Builder::new_current_thread().enable_time().build();
    runtime.map_err(|error| broken(&format!("cannot be read: {error}")))?.block_on(work)
}

fn key() -> String {
    format!("{}:revocations", tag(HOME))
}

fn field(what: &Revoked) -> String {
    match what {
        Revoked::User(user) => format!("u{}", user.0),
        Revoked::Token(id) => format!("t{id}"),
    }
}

fn value(revocation: &Revocation) -> String {
    let until = revocation.until_ms.map(|until| format!("{until:020}")).unwrap_or_default();
    format!("{:020}{until}", revocation.at_ms)
}

fn parse(field: &str, value: &str) -> Option<Revocation> {
    let what = match field.split_at_checked(1)? {
        ("u", mid) => Revoked::User(UserId(mid.parse().ok()?)),
        ("t", id) => Revoked::Token(id.into()),
        _ => return None,
    };
    let (at, until) = value.split_at_checked(DIGITS)?;
    let until_ms = if until.is_empty() { None } else { Some(until.parse().ok()?) };
    Some(Revocation { what, at_ms: at.parse().ok()?, until_ms })
}

fn unreachable(error: impl std::fmt::Display) -> ListError {
    broken(&format!("cannot be reached: {error}"))
}

fn damaged(why: impl std::fmt::Display) -> ListError {
    broken(&format!("is damaged: {why}; remove the key {} and revoke again", key()))
}

fn broken(why: &str) -> ListError {
    ListError::Broken { place: "in Redis".to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for (what, until_ms) in [
            (Revoked::User(UserId(u64::MAX)), None),
            (Revoked::User(UserId(0)), Some(u64::MAX)),
            (Revoked::Token("edition".into()), Some(5)),
            (Revoked::Token("u1 \"x\"\n".into()), None),
        ] {
            let revocation = Revocation { what, at_ms: 1_795_150_000_000, until_ms };
            assert_eq!(parse(&field(&revocation.what), &value(&revocation)), Some(revocation));
        }
        for (field, value) in [("", "1"), ("x1", "00000000000000000001"), ("u1", "1"), ("ux", "00000000000000000001")] {
            assert_eq!(parse(field, value), None, "{field} {value}");
        }
    }
}
