//! Opens a new deployment in a Redis that was lost, for users whose records are in the history store.
//!
//! ```text
//! empty ─ mark ─▶ rebuilding: no gateway serves it ─ claims, generations ─▶ open ─▶ rebuilt: absent heads are read
//! ```
//!
//! Each step may be repeated, so an interrupted rebuild is continued by the next one.

use std::collections::BTreeMap;

use ::redis::{Pipeline, cmd};

use super::deployment::{self, Mark};
use super::dial;
use super::hot_store::{refill, refilled_generations};
use super::refused::{RedisRefused, RefusalCause};
use super::sites::{Site, empty, first, new_id, sites, write_all};
use super::tag;
use super::target::Target;
use super::terms::Terms;
use model::rewards::claim::ClaimKey;
use model::shard::Shard;
use storage::config::redis::RedisConfig;

/// The name of this command's own connections.
const OWN_NAME: &str = "heartline-rebuild";
/// The shard of the keys that all shards share.
const COMMON: Shard = Shard(0);

/// The state in which the Redis was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Empty,
    /// A rebuild was interrupted.
    Begun,
    /// A rebuild was interrupted while it opened the deployment.
    Opening {
        at: u64,
    },
    /// A rebuild has ended.
    Rebuilt,
}

/// A rebuild of a Redis. Must be used within one tokio runtime, which drives the connections.
pub struct Rebuild {
    sites: Vec<Site>,
    id: String,
    pub found: Found,
}

impl Rebuild {
    /// Connects and looks. Writes nothing.
    ///
    /// # Errors
    /// The Redis cannot be reached, has unsafe settings, or has data.
    pub async fn look(config: &RedisConfig) -> Result<Self, RedisRefused> {
        let target = Target::open(config)?;
        let terms = Terms::new(target, config.durability);
        let (mut sites, marks) = sites(&terms).await?;
        let names = sites.iter().map(|site| site.master.address.to_string()).collect::<Vec<_>>().join(",");
        let (id, found) = plan(&marks).map_err(|wrong| RefusalCause::unfit(format!("{names} {wrong}")))?;
        for Site { master, connection } in &mut sites {
            dial::name(connection, OWN_NAME).await;
            if found == Found::Empty {
                empty(connection, &master.address).await?;
            }
        }
        Ok(Rebuild { sites, id, found })
    }

    /// The id of the new deployment.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The addresses of gateways and cascades that are connected.
    pub async fn connected(&mut self) -> Result<Vec<String>, RedisRefused> {
        let mut connected = Vec::new();
        for Site { master, connection } in &mut self.sites {
            let list: Result<String, _> = cmd("CLIENT").arg("LIST").query_async(connection).await;
            let list = list.map_err(|error| dial::trouble(&master.address, &error))?;
            connected.extend(list.lines().filter_map(gateway));
        }
        connected.sort_unstable();
        connected.dedup();
        Ok(connected)
    }

    /// From now on no gateway serves this Redis, and only a rebuild goes on with it.
    pub async fn mark(&mut self) -> Result<(), RedisRefused> {
        self.id = first(&mut self.sites, &self.id, deployment::rebuilding).await?;
        Ok(write_all(&mut self.sites, &deployment::rebuilding(&self.id)).await?)
    }

    /// Adds claims that were made before the loss.
    pub async fn put_claims(&mut self, claims: &[ClaimKey]) -> Result<(), RedisRefused> {
        for site in &mut self.sites {
            let mut commands = Pipeline::new();
            let here = claims.iter().map(refill).filter(|(shard, _)| site.master.shards.contains(shard));
            for command in here.flat_map(|(_, of_claim)| of_claim) {
                commands.add_command(command);
            }
            site.send(&commands).await?;
        }
        Ok(())
    }

    /// Derived counters begin with a generation after this one: no number is used again.
    pub async fn put_generations(&mut self, last: u32, gone: Vec<u32>) -> Result<(), RedisRefused> {
        let (key, value) = refilled_generations(last, gone);
        let mut commands = Pipeline::new();
        commands.set(key, value);
        Ok(self.common()?.send(&commands).await?)
    }

    /// How far the events of each part were read.
    pub async fn progress(&mut self) -> Result<BTreeMap<String, u64>, RedisRefused> {
        let Site { master, connection } = self.common()?;
        let stored: Result<BTreeMap<String, u64>, _> = cmd("HGETALL").arg(progress_key()).query_async(connection).await;
        Ok(stored.map_err(|error| dial::trouble(&master.address, &error))?)
    }

    pub async fn note_progress(&mut self, part: &str, offset: u64) -> Result<(), RedisRefused> {
        let mut commands = Pipeline::new();
        commands.hset(progress_key(), part, offset);
        Ok(self.common()?.send(&commands).await?)
    }

    /// Gateways serve it from now on. `at`: now, milliseconds since 1970.
    pub async fn open(&mut self, at: u64) -> Result<(), RedisRefused> {
        let at = if let Found::Opening { at } = self.found { at } else { at };
        write_all(&mut self.sites, &deployment::rebuilt(&self.id, at)).await?;
        let mut commands = Pipeline::new();
        commands.unlink(progress_key());
        Ok(self.common()?.send(&commands).await?)
    }

    fn common(&mut self) -> Result<&mut Site, RedisRefused> {
        let site = self.sites.iter_mut().find(|site| site.master.shards.contains(&COMMON));
        site.ok_or_else(|| RedisRefused::Unreachable("no master has the first shard".to_owned()))
    }
}

fn progress_key() -> String {
    format!("{}:rebuild", tag(COMMON))
}

/// The address of a client, by its line of `CLIENT LIST`, if it is a gateway or a cascade.
fn gateway(line: &str) -> Option<String> {
    let field = |name: &str| line.split(' ').find_map(|field| field.strip_prefix(name));
    (field("name=") == Some(dial::CLIENT_NAME)).then(|| field("addr=").unwrap_or_default().to_owned())
}

/// The id of the new deployment, and the state in which it is.
fn plan(marks: &[(Shard, Mark)]) -> Result<(String, Found), String> {
    let of = |wanted: fn(&Mark) -> bool| marks.iter().filter(|(_, mark)| wanted(mark)).count();
    let absent = of(|mark| *mark == Mark::Absent);
    let rebuilding = of(|mark| matches!(mark, Mark::Rebuilding(_)));
    let mut ids = Vec::new();
    let mut opened = None;
    for (_, mark) in marks {
        match mark {
            Mark::Absent => {}
            Mark::Rebuilding(id) => ids.push(id.clone()),
            Mark::Ready(text) => {
                opened = deployment::rebuilt_at(text).or(opened);
                ids.push(deployment::id(text).to_owned());
            }
            Mark::Preparing(_) => return Err("is being prepared: run heartline init again".to_owned()),
            Mark::Foreign(text) => {
                return Err(format!("is used by another application, or by another version of this one: {text:?}"));
            }
        }
    }
    ids.sort_unstable();
    ids.dedup();
    match (&ids[..], opened) {
        ([], _) => Ok((new_id(), Found::Empty)),
        ([id], None) if absent + rebuilding == marks.len() => Ok((id.clone(), Found::Begun)),
        ([id], Some(_)) if absent + rebuilding == 0 => Ok((id.clone(), Found::Rebuilt)),
        ([id], Some(at)) if absent == 0 => Ok((id.clone(), Found::Opening { at })),
        ([id], _) if absent > 0 => Err(format!(
            "is the deployment {id} and has lost {absent} of {} shards: end all gateways, empty it (FLUSHALL on every master) \
             and run heartline rebuild again",
            marks.len()
        )),
        ([id], _) => Err(format!(
            "is the deployment {id} and not empty; if it was restored from an older state, end all gateways, empty it \
             (FLUSHALL on every master) and run heartline rebuild again"
        )),
        _ => {
            Err(format!("belongs to several deployments ({}); set redis.url to the one that was lost", ids.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(texts: &[Option<&str>]) -> Vec<(Shard, Mark)> {
        let mark = |(shard, text): (usize, &Option<&str>)| (Shard(shard as u16), Mark::read(text.map(str::as_bytes)));
        texts.iter().enumerate().map(mark).collect()
    }

    #[test]
    fn an_empty_redis_is_begun_and_an_interrupted_rebuild_goes_on() {
        let (begun, ready) = (deployment::rebuilding("a"), deployment::rebuilt("a", 5));
        let (begun, ready) = (Some(&*begun), Some(&*ready));
        assert_eq!(plan(&marks(&[None, None])).map(|(_, found)| found), Ok(Found::Empty));
        for (texts, expected) in [
            ([begun, None], Found::Begun),
            ([begun, begun], Found::Begun),
            ([ready, begun], Found::Opening { at: 5 }),
            ([ready, ready], Found::Rebuilt),
        ] {
            assert_eq!(plan(&marks(&texts)), Ok(("a".to_owned(), expected)), "{texts:?}");
        }
    }

    #[test]
    fn a_redis_with_data_is_refused() {
        let (old, other) = (deployment::ready("b"), deployment::rebuilding("a"));
        let (old, other) = (Some(&*old), Some(&*other));
        let refused = |texts: &[Option<&str>], word: &str| {
            let told = plan(&marks(texts)).expect_err("it has data");
            assert!(told.contains(word), "{told}");
        };
        refused(&[old, old], "is the deployment b and not empty");
        refused(&[old, None], "has lost 1 of 2 shards");
        refused(&[old, other], "several deployments (a, b)");
        refused(&[Some("preparing a"), None], "heartline init again");
        refused(&[Some("x"), None], "another application");
    }

    #[test]
    fn gateways_are_told_from_other_clients() {
        let line = |name: &str| format!("id=3 addr=10.0.0.5:4242 laddr=10.0.0.1:6379 fd=8 name={name} age=7 flags=N");
        assert_eq!(gateway(&line("heartline")).as_deref(), Some("10.0.0.5:4242"));
        assert_eq!((gateway(&line("")), gateway(&line(OWN_NAME)), gateway("")), (None, None, None));
    }
}
