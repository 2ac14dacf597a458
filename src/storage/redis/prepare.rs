//! Prepares a new Redis for a deployment.

use std::fmt;
use std::sync::Arc;
use std::thread;

use tokio::runtime::Builder;

use super::deployment::{self, Mark};
use super::fleet::patiently;
use super::refused::{RedisRefused, RefusalCause};
use super::sites::{Site, empty, first, new_id, sites, write_all};
use super::target::Target;
use super::terms::Terms;
use model::shard::Shard;
use storage::config::redis::RedisConfig;

/// The result of [`prepare`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prepared {
    New {
        id: String,
    },
    /// An interrupted init was continued.
    Completed {
        id: String,
    },
    /// Nothing had to be done.
    Before {
        id: String,
    },
}

impl fmt::Display for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Prepared::New { id } => write!(f, "Redis is prepared: deployment {id}"),
            Prepared::Completed { id } => write!(f, "Redis is prepared now, as was begun before: deployment {id}"),
            Prepared::Before { id } => write!(f, "Redis was prepared before: deployment {id}; nothing was changed"),
        }
    }
}

/// Writes the keys of a deployment into a new Redis; blocks. Continues an interrupted init, and changes no other Redis.
///
/// # Errors
/// The Redis cannot be reached, has unsafe settings, belongs to something else, or has lost a part of its deployment.
pub fn prepare(config: &RedisConfig) -> Result<Prepared, RedisRefused> {
    let target = Target::open(config)?;
    let terms = Arc::new(Terms::new(target, config.durability));
    let runtime = Builder::new_current_thread().enable_all().build().map_err(RedisRefused::Process)?;
    // Not on this one, which may be another runtime's.
    let thread = thread::Builder::new().name("redis".to_owned());
    let thread = thread
        .spawn(move || runtime.block_on(patiently(|| prepare_all(terms.clone()))))
        .map_err(RedisRefused::Process)?;
    Ok(thread.join().expect("it does not panic")?)
}

async fn prepare_all(terms: Arc<Terms>) -> Result<Prepared, RefusalCause> {
    let (mut sites, marks) = sites(&terms).await?;
    let names = sites.iter().map(|site| site.master.address.to_string()).collect::<Vec<_>>().join(",");
    let plan = plan(&marks).map_err(|wrong| RefusalCause::unfit(format!("{names} {wrong}")))?;
    let (id, begun) = match plan {
        Plan::Nothing(id) => return Ok(Prepared::Before { id }),
        Plan::GoOn(id) => (id, true),
        Plan::Begin => (new_id(), false),
    };
    for Site { master, connection } in &mut sites {
        empty(connection, &master.address).await?;
    }
    let id = first(&mut sites, &id, deployment::preparing).await?;
    write_all(&mut sites, &deployment::preparing(&id)).await?;
    write_all(&mut sites, &deployment::ready(&id)).await?;
    Ok(if begun { Prepared::Completed { id } } else { Prepared::New { id } })
}

#[derive(Debug, PartialEq)]
enum Plan {
    Nothing(String),
    GoOn(String),
    Begin,
}

/// The plan for keys with these marks.
fn plan(marks: &[(Shard, Mark)]) -> Result<Plan, String> {
    let of = |mark: &Mark| match mark {
        Mark::Preparing(id) => Some(id.clone()),
        Mark::Ready(text) => Some(deployment::id(text).to_owned()),
        Mark::Absent | Mark::Rebuilding(_) | Mark::Foreign(_) => None,
    };
    if marks.iter().any(|(_, mark)| matches!(mark, Mark::Rebuilding(_))) {
        return Err("is being rebuilt: run heartline rebuild again".to_owned());
    }
    if let Some((shard, Mark::Foreign(text))) = marks.iter().find(|(_, mark)| matches!(mark, Mark::Foreign(_))) {
        return Err(format!(
            "is used by another application, or by another version of this one: {} is {text:?}; set redis.url to a new one",
            deployment::key(*shard)
        ));
    }
    let mut ids: Vec<_> = marks.iter().filter_map(|(_, mark)| of(mark)).collect();
    ids.sort();
    ids.dedup();
    let [id] = &ids[..] else {
        return match ids.is_empty() {
            true => Ok(Plan::Begin),
            false => Err(format!("belongs to several deployments ({}); set redis.url to a new one", ids.join(", "))),
        };
    };
    let ready = marks.iter().filter(|(_, mark)| matches!(mark, Mark::Ready(_))).count();
    let absent = marks.iter().filter(|(_, mark)| *mark == Mark::Absent).count();
    match (ready, absent) {
        (ready, _) if ready == marks.len() => Ok(Plan::Nothing(id.clone())),
        (0, _) | (_, 0) => Ok(Plan::GoOn(id.clone())),
        (_, absent) => Err(format!(
            "is the deployment {id} and has lost {absent} of {} shards; restore it from a backup, or empty it (FLUSHALL on \
             every master) and run heartline init again",
            marks.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(marks: &[Option<&str>]) -> Vec<(Shard, Mark)> {
        let mark = |(shard, text): (usize, &Option<&str>)| (Shard(shard as u16), Mark::read(text.map(str::as_bytes)));
        marks.iter().enumerate().map(mark).collect()
    }

    #[test]
    fn an_interrupted_init_is_continued_and_a_lost_part_is_refused() {
        let (begun, ready) = (deployment::preparing("a"), deployment::ready("a"));
        let (begun, ready) = (Some(&*begun), Some(&*ready));
        let id = || "a".to_owned();
        for (texts, expected) in [
            ([None, None], Plan::Begin),
            ([begun, None], Plan::GoOn(id())),
            ([begun, begun], Plan::GoOn(id())),
            ([ready, begun], Plan::GoOn(id())),
            ([ready, ready], Plan::Nothing(id())),
        ] {
            assert_eq!(plan(&marks(&texts)), Ok(expected), "{texts:?}");
        }
        let told = plan(&marks(&[ready, None])).expect_err("a part is lost");
        assert!(told.contains("has lost 1 of 2 shards"), "{told}");
        let other = deployment::ready("b");
        let told = plan(&marks(&[ready, Some(&*other)])).expect_err("two");
        assert!(told.contains("several deployments (a, b)"), "{told}");
        for other in ["what else", "a format=3 shards=1000 hash=siphash-2-4"] {
            let told = plan(&marks(&[Some(other), None])).expect_err("foreign");
            assert!(told.contains(&format!("{other:?}")), "{told}");
        }
    }
}
