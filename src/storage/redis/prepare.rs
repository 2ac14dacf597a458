//! Prepares a new Redis for a deployment.

use std::fmt;
use std::sync::Arc;
use std::thread;

use ::redis::aio::MultiplexedConnection;
use ::redis::{Pipeline, Value, cmd};
use tokio::runtime::Builder;

use super::deployment::{self, Mark};
use super::dial;
use super::fleet::patiently;
use super::probe;
use super::refused::{RedisRefused, RefusalCause};
use super::target::{Address, Target};
use super::terms::Terms;
use super::topology::{self, Master};
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
    let target = Target::parse(config.url.expose()).map_err(RedisRefused::Url)?;
    let terms = Arc::new(Terms::new(target, config.durability));
    let runtime = Builder::new_current_thread().enable_all().build().map_err(RedisRefused::Process)?;
    // Not on this one, which may be another runtime's.
    let thread = thread::Builder::new().name("redis".to_owned());
    let thread = thread
        .spawn(move || runtime.block_on(patiently(|| prepare_all(terms.clone()))))
        .map_err(RedisRefused::Process)?;
    Ok(thread.join().expect("it does not panic")?)
}

/// A master to write the keys to.
struct Site {
    master: Master,
    connection: MultiplexedConnection,
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
    let id = first(&mut sites, &id).await?;
    write_all(&mut sites, &deployment::preparing(&id)).await?;
    write_all(&mut sites, &deployment::ready(&id)).await?;
    Ok(if begun { Prepared::Completed { id } } else { Prepared::New { id } })
}

/// All masters, found fit, and what their keys hold.
async fn sites(terms: &Terms) -> Result<(Vec<Site>, Vec<(Shard, Mark)>), RefusalCause> {
    let masters = topology::discover(&terms.target, Vec::new()).await?;
    topology::whole(&masters)?;
    let mut sites = Vec::new();
    for master in masters {
        let mut connection = dial::server(&terms.target, &master.address).await?;
        terms.fit(&master.address, &mut connection).await?;
        sites.push(Site { master, connection });
    }
    let mut marks = Vec::new();
    for Site { master, connection } in &mut sites {
        let found = dial::marks(connection, &master.address, &master.shards).await?;
        if found.len() < master.shards.len() {
            return Err(RefusalCause::Away(format!("{}: slots are being moved to another node", master.address)));
        }
        marks.extend(found);
    }
    Ok((sites, marks))
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
        Mark::Absent | Mark::Foreign(_) => None,
    };
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

/// Checks that the server holds no keys but those of deployments.
async fn empty(connection: &mut MultiplexedConnection, address: &Address) -> Result<(), RefusalCause> {
    let mut cursor = 0;
    loop {
        let mut scan = cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg("{h*").arg("COUNT").arg(10_000);
        let found: Result<(u64, Vec<Vec<u8>>), _> = scan.query_async(connection).await;
        let (next, keys) = found.map_err(|error| dial::trouble(address, &error))?;
        if let Some(key) = keys.iter().find(|key| is_of_a_user(key)) {
            return Err(RefusalCause::unfit(format!(
                "{address} holds {:?} and has no whole deployment: it has lost a part; restore it from a backup, or empty \
                 it (FLUSHALL on every master) and run heartline init again",
                String::from_utf8_lossy(key)
            )));
        }
        if next == 0 {
            return Ok(());
        }
        cursor = next;
    }
}

/// Whether a key carries the tag of a shard, and is neither that of its deployment nor one that any gateway writes.
fn is_of_a_user(key: &[u8]) -> bool {
    let Some((number, rest)) = std::str::from_utf8(key).ok().and_then(|key| key.strip_prefix("{h")?.split_once('}'))
    else {
        return false;
    };
    number.parse::<u16>().is_ok() && rest != ":deployment" && rest != probe::NAME
}

/// Writes the key of the first shard, or takes the id that a concurrent init has written there. So all agree on one id.
async fn first(sites: &mut [Site], id: &str) -> Result<String, RefusalCause> {
    let first = Shard(0);
    let site = sites.iter_mut().find(|site| site.master.shards.contains(&first));
    let Some(Site { master, connection }) = site else { return Ok(id.to_owned()) };
    let away = |error| dial::trouble(&master.address, &error);
    let mut set = cmd("SET");
    set.arg(deployment::key(first)).arg(deployment::preparing(id)).arg("NX");
    let _: Option<String> = set.query_async(connection).await.map_err(away)?;
    let marks = dial::marks(connection, &master.address, &[first]).await?;
    match marks.first() {
        Some((_, Mark::Preparing(id))) => Ok(id.clone()),
        Some((_, Mark::Ready(text))) => Ok(deployment::id(text).to_owned()),
        _ => Err(RefusalCause::Away(format!("{} is being written to by another process", master.address))),
    }
}

/// Writes all keys, and returns when all are written.
async fn write_all(sites: &mut [Site], text: &str) -> Result<(), RefusalCause> {
    for Site { master, connection } in sites {
        let mut commands = Pipeline::with_capacity(master.shards.len());
        for shard in &master.shards {
            commands.cmd("SET").arg(deployment::key(*shard)).arg(text);
        }
        let sent = dial::send(connection, &commands, master.shards.len()).await;
        let values = sent.map_err(|error| dial::trouble(&master.address, &error))?;
        if let Some(Value::ServerError(error)) = values.iter().find(|value| matches!(value, Value::ServerError(_))) {
            return Err(dial::trouble(&master.address, &error.clone().into()));
        }
    }
    Ok(())
}

/// Random, in the form of a UUID of version 4 (RFC 9562).
fn new_id() -> String {
    let number = (rand::random::<u128>() & !(0xf << 76 | 0b11 << 62)) | 4 << 76 | 0b10 << 62;
    let hex = format!("{number:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(marks: &[Option<&str>]) -> Vec<(Shard, Mark)> {
        let mark = |(shard, text): (usize, &Option<&str>)| (Shard(shard as u16), Mark::read(text.map(str::as_bytes)));
        marks.iter().enumerate().map(mark).collect()
    }

    #[test]
    fn an_id_is_a_uuid() {
        let id = new_id();
        assert!(id.len() == 36 && id.as_bytes()[14] == b'4' && "89ab".contains(&id[19..20]), "{id}");
        assert_ne!(id, new_id());
        assert_eq!(Mark::read(Some(deployment::ready(&id).as_bytes())), Mark::Ready(Arc::from(deployment::ready(&id))));
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

    #[test]
    fn foreign_keys_do_not_count_as_keys_of_users() {
        for other in ["{h12}:deployment", "{h12}:probe", "{hello}:a", "{h}", "h12", "{h12", "{h70000}:a"] {
            assert!(!is_of_a_user(other.as_bytes()), "{other}");
        }
        for ours in ["{h12}:r:42", "{h0}:o", "{h999}:h:1"] {
            assert!(is_of_a_user(ours.as_bytes()), "{ours}");
        }
    }
}
