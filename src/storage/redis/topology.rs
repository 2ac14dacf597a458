//! Which server has which shard.

use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::{Value, cmd, from_redis_value};
use crc::{CRC_16_XMODEM, Crc};
use futures_util::future::join_all;
use tokio::time::timeout;

use super::address::Address;
use super::deployment::shards;
use super::dial;
use super::refused::RefusalCause;
use super::target::{Kind, Target};
use model::shard::Shard;

/// A Sentinel that does not answer within this time is ignored.
const SENTINEL_TIMEOUT: Duration = Duration::from_secs(1);

/// A master and its shards.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Master {
    pub address: Address,
    pub shards: Vec<Shard>,
    /// In a Cluster: the master has no replica, so that its users wait while it is away.
    pub alone: bool,
}

/// `known`: connections that may be asked, those of nodes that answered before.
pub(super) async fn discover(
    target: &Target,
    known: Vec<(Address, MultiplexedConnection)>,
) -> Result<Vec<Master>, RefusalCause> {
    match &target.kind {
        Kind::Server => Ok(vec![all_at(target.addresses[0].clone())]),
        Kind::Sentinel { master } => Ok(vec![all_at(master_of(target, master).await?)]),
        Kind::Cluster => masters(target, known).await,
    }
}

/// Whether every shard has a master.
pub(super) fn whole(masters: &[Master]) -> Result<(), RefusalCause> {
    let missing = shards().count() - masters.iter().map(|master| master.shards.len()).sum::<usize>();
    match missing {
        0 => Ok(()),
        _ => Err(RefusalCause::Away(format!("{missing} shards are on no cluster node"))),
    }
}

fn all_at(address: Address) -> Master {
    Master { address, shards: shards().collect(), alone: false }
}

/// Asks all Sentinels, and takes the answer of most: a Sentinel that was cut off may still name a former master.
async fn master_of(target: &Target, name: &str) -> Result<Address, RefusalCause> {
    let asked = target.addresses.iter().map(|sentinel| async move {
        let named = timeout(SENTINEL_TIMEOUT, named_by(target, sentinel, name)).await;
        named.unwrap_or_else(|_| Err(RefusalCause::Away(format!("{sentinel}: no answer in time"))))
    });
    let (mut named, mut troubles) = (Vec::new(), Vec::new());
    for answer in join_all(asked).await {
        match answer {
            Ok(address) => named.push(address),
            Err(trouble) => troubles.push(trouble),
        }
    }
    let votes = |address: &Address| named.iter().filter(|other| *other == address).count();
    match named.iter().max_by_key(|address| votes(address)) {
        Some(master) => Ok(master.clone()),
        None => Err(unanswered("no Sentinel names a master", &troubles)),
    }
}

async fn named_by(target: &Target, sentinel: &Address, name: &str) -> Result<Address, RefusalCause> {
    let mut connection = dial::sentinel(target, sentinel).await?;
    let mut asks = cmd("SENTINEL");
    asks.arg("get-master-addr-by-name").arg(name);
    let answer: Result<Option<(String, u16)>, _> = asks.query_async(&mut connection).await;
    match answer.map_err(|error| dial::trouble(sentinel, &error))? {
        Some((host, port)) => Ok(Address::new(host, port)),
        None => Err(RefusalCause::Away(format!("{sentinel} knows no master {name:?}"))),
    }
}

async fn masters(target: &Target, known: Vec<(Address, MultiplexedConnection)>) -> Result<Vec<Master>, RefusalCause> {
    let mut troubles = Vec::new();
    for (address, mut connection) in known {
        match masters_by(target, &address, &mut connection).await {
            Ok(masters) => return Ok(masters),
            Err(trouble) => troubles.push(trouble),
        }
    }
    for address in &target.addresses {
        let asked = async { masters_by(target, address, &mut dial::server(target, address).await?).await };
        match asked.await {
            Ok(masters) => return Ok(masters),
            Err(trouble) => troubles.push(trouble),
        }
    }
    Err(unanswered("cannot read the cluster topology", &troubles))
}

/// Why none of them answered: first what an operator has to fix.
fn unanswered(what: &str, troubles: &[RefusalCause]) -> RefusalCause {
    let unfit = troubles.iter().find(|trouble| matches!(trouble, RefusalCause::Unfit(_))).cloned();
    let texts = || troubles.iter().map(RefusalCause::text).collect::<Vec<_>>().join("; ");
    unfit.unwrap_or_else(|| RefusalCause::Away(format!("{what}: {}", texts())))
}

async fn masters_by(
    target: &Target,
    asked: &Address,
    connection: &mut MultiplexedConnection,
) -> Result<Vec<Master>, RefusalCause> {
    let answer = cmd("CLUSTER").arg("SLOTS").query_async(connection).await;
    let ranges: Vec<Vec<Value>> = answer.map_err(|error| {
        if error.to_string().contains("cluster support disabled") {
            let url = target.url(&Kind::Server, asked);
            return RefusalCause::unfit(format!("{asked} is not a cluster node; set redis.url to {url}"));
        }
        dial::trouble(asked, &error)
    })?;
    let ranges = ranges.into_iter().map(|range| Range::read(range, asked)).collect::<Option<Vec<_>>>();
    let ranges =
        ranges.ok_or_else(|| RefusalCause::Away(format!("{asked} answers CLUSTER SLOTS in an unknown format")))?;
    Ok(share(ranges))
}

/// A line of `CLUSTER SLOTS`.
struct Range {
    slots: std::ops::RangeInclusive<u16>,
    master: Address,
    replicas: usize,
}

impl Range {
    fn read(range: Vec<Value>, asked: &Address) -> Option<Self> {
        let mut fields = range.into_iter();
        let first = from_redis_value(fields.next()?).ok()?;
        let last = from_redis_value(fields.next()?).ok()?;
        let mut master: std::vec::IntoIter<Value> = from_redis_value::<Vec<Value>>(fields.next()?).ok()?.into_iter();
        let host: Option<String> = from_redis_value(master.next()?).ok()?;
        let port = from_redis_value(master.next()?).ok()?;
        // A node that does not know its own address leaves it out: it is the one that was asked.
        let host = host.filter(|host| !host.is_empty() && host != "?").unwrap_or_else(|| asked.host.clone());
        Some(Range { slots: first..=last, master: Address::new(host, port), replicas: fields.count() })
    }
}

/// Assigns the shards to the masters that serve their slots. Shards of unassigned slots have no master.
fn share(ranges: Vec<Range>) -> Vec<Master> {
    let mut masters: Vec<Master> = Vec::new();
    for range in &ranges {
        if !masters.iter().any(|master| master.address == range.master) {
            let alone = range.replicas == 0;
            masters.push(Master { address: range.master.clone(), shards: Vec::new(), alone });
        }
    }
    for shard in shards() {
        let slot = slot(shard);
        let Some(range) = ranges.iter().find(|range| range.slots.contains(&slot)) else { continue };
        if let Some(master) = masters.iter_mut().find(|master| master.address == range.master) {
            master.shards.push(shard);
        }
    }
    masters.sort_by(|one, other| one.address.cmp(&other.address));
    masters
}

/// The slot of all keys of the shard: the checksum of what stands between the braces, modulo 16384, as the
/// specification of Redis Cluster has it.
fn slot(shard: Shard) -> u16 {
    const CHECKSUM: Crc<u16> = Crc::<u16>::new(&CRC_16_XMODEM);
    CHECKSUM.checksum(format!("h{}", shard.0).as_bytes()) % 16_384
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(slots: std::ops::RangeInclusive<u16>, host: &str, replicas: usize) -> Range {
        Range { slots, master: Address::new(host, 1), replicas }
    }

    #[test]
    fn slots_are_those_of_cluster_keyslot() {
        // By `CLUSTER KEYSLOT`.
        let told = [(0, 13_520), (1, 9_457), (42, 11_658), (999, 8_018)];
        assert!(told.iter().all(|(shard, expected)| slot(Shard(*shard)) == *expected));
    }

    #[test]
    fn every_shard_is_dealt_to_the_master_of_its_slot() {
        let masters =
            share(vec![range(8_000..=16_383, "b", 1), range(0..=3_999, "a", 0), range(4_000..=7_999, "c", 1)]);
        let told: Vec<_> = masters.iter().map(|master| (&*master.address.host, master.alone)).collect();
        assert_eq!(told, [("a", true), ("b", false), ("c", false)]);
        assert_eq!(masters.iter().map(|master| master.shards.len()).sum::<usize>(), 1000);
        assert!(masters[0].shards.iter().all(|shard| slot(*shard) < 4_000));
        let half = share(vec![range(0..=8_191, "a", 0)]);
        assert!(half.len() == 1 && (400..600).contains(&half[0].shards.len()), "the other shards have no master");
    }

    #[test]
    fn the_first_node_of_a_slot_range_is_its_master() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let node = |host: Value, port| Value::Array(vec![host, Value::Int(port), text("id"), Value::Array(vec![])]);
        let line = |host| vec![Value::Int(0), Value::Int(5460), node(host, 7000), node(text("10.0.0.2"), 7001)];
        let asked = Address::new("10.0.0.9", 9);
        let read = |host| Range::read(line(host), &asked).map(|range| (range.master.to_string(), range.replicas));
        assert_eq!(read(text("10.0.0.1")), Some(("10.0.0.1:7000".to_owned(), 1)));
        for unknown in [Value::Nil, text(""), text("?")] {
            assert_eq!(read(unknown), Some(("10.0.0.9:7000".to_owned(), 1)));
        }
        assert!(Range::read(vec![Value::Int(0)], &asked).is_none());
    }
}
