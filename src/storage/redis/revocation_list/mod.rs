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

use crate::{Call, Redis, tag};
use model::ids::UserId;
use model::revocation::{Revocation, Revoked};
use model::shard::Shard;
use storage::revocation_list::{Edition, ListError, REVOCATIONS_MAX, RevocationList};

const HOME: Shard = Shard(0);
const EDITION: &str = "edition";
/// As many as a `u64` may have.
const DIGITS: usize = 20;
/// Expired ones that make room at one time. Commits to this server wait meanwhile.
const EXPIRED_MAX: usize = 1000;

/// Fields that are looked through together.
const STEP: usize = 1000;

/// Without removals.
const ADD_WORDS: usize = 4;

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

    /// Decides on what is there, and again if that changes meanwhile.
    async fn put(&self, revocation: &Revocation, now_ms: u64) -> Result<Revocation, ListError> {
        let field = field(&revocation.what);
        loop {
            let (present, count) = self.look(&field).await?;
            let held = present.as_deref().map(|held| parse(&field, held).ok_or_else(|| damaged("unreadable value")));
            if let Some(later) = held.transpose()?.filter(|held| !held.gives_way_to(revocation)) {
                return Ok(later);
            }
            let is_new = present.is_none();
            let present = present.unwrap_or_default();
            let mut arguments = vec![field.clone(), present, value(revocation), REVOCATIONS_MAX.to_string()];
            if is_new && count >= REVOCATIONS_MAX {
                let expired = self.expired(now_ms).await?;
                arguments.extend(expired.iter().flat_map(|held| [self::field(&held.what), value(held)]));
                if arguments.len() == ADD_WORDS {
                    return Err(ListError::Full);
                }
            }
            if self.run(&ADD, arguments).await? == Value::Int(1) {
                return Ok(revocation.clone());
            }
        }
    }

    /// Some that hold no longer, if there are any. A full list is read in steps, so that no step takes long.
    async fn expired(&self, now_ms: u64) -> Result<Vec<Revocation>, ListError> {
        let (mut cursor, mut expired) = ("0".to_owned(), Vec::new());
        loop {
            let mut step = Pipeline::new();
            step.cmd("HSCAN").arg(key()).arg(&cursor).arg("COUNT").arg(STEP);
            let fields: Vec<(String, String)>;
            (cursor, fields) = from_redis_value(self.ask(step).await?).map_err(damaged)?;
            for (field, value) in fields.iter().filter(|(field, _)| field != EDITION) {
                let held = parse(field, value).ok_or_else(|| damaged("unknown field"))?;
                expired.extend((!held.holds(now_ms)).then_some(held));
            }
            if cursor == "0" || expired.len() >= EXPIRED_MAX {
                expired.truncate(EXPIRED_MAX);
                return Ok(expired);
            }
        }
    }

    /// The value of a field, and how many revocations there are.
    async fn look(&self, field: &str) -> Result<(Option<String>, usize), ListError> {
        let mut commands = Pipeline::new();
        commands.hget(key(), field).hlen(key()).hexists(key(), EDITION);
        let answers = self.redis.ask(HOME, commands).await.map_err(unreachable)?;
        let (value, fields, has_edition): (_, usize, bool) =
            from_redis_value(Value::Array(answers)).map_err(damaged)?;
        Ok((value, fields - usize::from(has_edition)))
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
        wait(self.put(revocation, now_ms))
    }

    fn remove(&self, what: &Revoked, upto_ms: u64) -> Result<(), ListError> {
        wait(self.run(&REMOVE, vec![field(what), format!("{upto_ms:020}")])).map(drop)
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
    fn the_stored_value_of_a_revocation_is_read_as_written() {
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
