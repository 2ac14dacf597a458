//! Carries a Redis over that an older version has written.
//!
//! ```text
//! all keys of the deployment: format=1 to 3 ─▶ upgrading ─▶ what was stored is carried over ─▶ all keys: format=4
//! ```
//!
//! While any key says *upgrading* no gateway of any version reads or writes. One that was broken off is begun again.

use std::fmt;
use std::sync::Arc;
use std::thread;

use ::redis::RedisResult;
use ::redis::aio::MultiplexedConnection;
use futures_util::future::BoxFuture;
use tokio::runtime::Builder;

use super::config::RedisConfig;
use super::deployment::{self, Mark};
use super::dial;
use super::fleet::patiently;
use super::prepare::{Site, sites, write_all};
use super::refused::{RedisRefused, RefusalCause};
use super::target::Target;
use super::terms::Terms;
use crate::model::shard::Shard;

/// Carries over what one master has, and says of how many users. Called again it goes on where it was.
pub type CarryOver = for<'c> fn(&'c mut MultiplexedConnection) -> BoxFuture<'c, RedisResult<u64>>;

/// What [`upgrade`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upgraded {
    Done { id: String, users: u64 },
    Before { id: String },
}

impl fmt::Display for Upgraded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Upgraded::Done { id, users } => write!(f, "Redis is upgraded: deployment {id}, {users} users"),
            Upgraded::Before { id } => write!(f, "Redis is up to date: deployment {id}; nothing was changed"),
        }
    }
}

/// Brings the Redis of a deployment to the format of this version; blocks. All gateways should be stopped: those that run
/// commit nothing any more.
///
/// # Errors
/// It cannot be reached, is not set as it must be, is no whole deployment, or is of a version that is not known.
pub fn upgrade(config: &RedisConfig, carry_over: CarryOver) -> Result<Upgraded, RedisRefused> {
    let target = Target::parse(config.url.expose()).map_err(RedisRefused::Url)?;
    let terms = Arc::new(Terms::new(target, config.durability));
    let runtime = Builder::new_current_thread().enable_all().build().map_err(RedisRefused::Process)?;
    // Not on this one, which may be another runtime's.
    let thread = thread::Builder::new().name("redis".to_owned());
    let thread = thread
        .spawn(move || runtime.block_on(patiently(|| upgrade_all(terms.clone(), carry_over))))
        .map_err(RedisRefused::Process)?;
    Ok(thread.join().expect("it does not panic")?)
}

async fn upgrade_all(terms: Arc<Terms>, carry_over: CarryOver) -> Result<Upgraded, RefusalCause> {
    let (mut sites, marks) = sites(&terms).await?;
    let names = sites.iter().map(|site| site.master.address.to_string()).collect::<Vec<_>>().join(",");
    let id = match plan(&marks).map_err(|wrong| RefusalCause::unfit(format!("{names} {wrong}")))? {
        Plan::Nothing(id) => return Ok(Upgraded::Before { id }),
        Plan::Upgrade(id) => id,
    };
    write_all(&mut sites, &deployment::upgrading(&id)).await?;
    let mut users = 0;
    for Site { master, connection } in &mut sites {
        users += carry_over(connection).await.map_err(|error| dial::trouble(&master.address, &error))?;
    }
    write_all(&mut sites, &deployment::ready(&id)).await?;
    Ok(Upgraded::Done { id, users })
}

#[derive(Debug, PartialEq)]
enum Plan {
    Nothing(String),
    Upgrade(String),
}

fn plan(marks: &[(Shard, Mark)]) -> Result<Plan, String> {
    let mut ids = Vec::new();
    for (shard, mark) in marks {
        match mark {
            Mark::Older(id) | Mark::Upgrading(id) => ids.push(id.clone()),
            Mark::Ready(text) => ids.push(deployment::id(text).to_owned()),
            Mark::Absent | Mark::Preparing(_) | Mark::Foreign(_) => {
                return Err(format!(
                    "is no whole deployment of an older version ({}): if it is new, run heartline init; if it has lost a \
                     part, restore it from a backup",
                    deployment::key(*shard)
                ));
            }
        }
    }
    ids.sort();
    ids.dedup();
    let [id] = &ids[..] else {
        return Err(format!("belongs to several deployments ({}); set redis.url to the Redis of one", ids.join(", ")));
    };
    let is_new = marks.iter().all(|(_, mark)| matches!(mark, Mark::Ready(_)));
    Ok(if is_new { Plan::Nothing(id.clone()) } else { Plan::Upgrade(id.clone()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(texts: &[Option<&str>]) -> Vec<(Shard, Mark)> {
        let mark = |(shard, text): (usize, &Option<&str>)| (Shard(shard as u16), Mark::read(text.map(str::as_bytes)));
        texts.iter().enumerate().map(mark).collect()
    }

    #[test]
    fn what_was_broken_off_goes_on_and_what_is_no_deployment_is_left_alone() {
        let old = Some("a format=1 shards=1000 hash=siphash-2-4");
        let (begun, ready) = (deployment::upgrading("a"), deployment::ready("a"));
        let (begun, ready) = (Some(&*begun), Some(&*ready));
        for texts in [[old, old], [begun, old], [begun, begun], [ready, begun]] {
            assert_eq!(plan(&marks(&texts)), Ok(Plan::Upgrade("a".to_owned())), "{texts:?}");
        }
        assert_eq!(plan(&marks(&[ready, ready])), Ok(Plan::Nothing("a".to_owned())));
        for texts in [[old, None], [old, Some("b format=1 shards=1000 hash=siphash-2-4")], [old, Some("preparing a")]] {
            assert!(plan(&marks(&texts)).is_err(), "{texts:?}");
        }
    }
}
