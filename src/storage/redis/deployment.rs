//! The keys that say which deployment a Redis belongs to: `{h<shard>}:deployment`, one for each shard.
//!
//! `heartline init` writes them once: all as *preparing*, then all as *ready*, with one id. `heartline rebuild` does the
//! same after a loss, with *rebuilding* and *rebuilt*. So an interrupted init
//! (some keys are missing and none is ready, or none is missing) is continued, and a store that lost a part (some keys
//! are ready and some are missing) is never taken for a new one. Scripts compare the key of their shard with the full
//! value of a ready key, and write only if they are equal. A [swap](super::swap) does not check the key: it writes only
//! over values that this deployment has written.

use std::sync::Arc;

use super::tag;
use model::shard::{Shard, Shards};

/// The part of every ready key after the id. A gateway with another number of shards or another hash would look for
/// users in other shards.
const FORMAT: &str = "format=4 shards=1000 hash=siphash-2-4";
const PREPARING: &str = "preparing ";
const REBUILDING: &str = "rebuilding ";
/// Precedes, in a ready key, the moment of the rebuild, milliseconds since 1970. Versions that know no rebuilt store refuse
/// the key: they would take users without a head for new ones.
const REBUILT: &str = " rebuilt=";

/// The value of one of the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Absent,
    /// An init of this id has begun.
    Preparing(String),
    /// A rebuild of this id has begun.
    Rebuilding(String),
    /// A ready key, with its full value.
    Ready(Arc<str>),
    /// A value of another program, or of another version of this one.
    Foreign(String),
}

pub(super) fn key(shard: Shard) -> String {
    format!("{}:deployment", tag(shard))
}

pub(super) fn preparing(id: &str) -> String {
    format!("{PREPARING}{id}")
}

pub(super) fn ready(id: &str) -> String {
    format!("{id} {FORMAT}")
}

pub(super) fn rebuilding(id: &str) -> String {
    format!("{REBUILDING}{id}")
}

/// `at`: milliseconds since 1970.
pub(super) fn rebuilt(id: &str, at: u64) -> String {
    format!("{}{REBUILT}{at}", ready(id))
}

/// When the deployment of this ready key was rebuilt; `None`: it was not.
pub(super) fn rebuilt_at(ready: &str) -> Option<u64> {
    ready.rsplit_once(REBUILT)?.1.parse().ok()
}

/// The id in the value of a ready key.
pub(super) fn id(ready: &str) -> &str {
    ready.split(' ').next().unwrap_or_default()
}

impl Mark {
    pub fn read(value: Option<&[u8]>) -> Self {
        let Some(value) = value else { return Mark::Absent };
        let text = String::from_utf8_lossy(value);
        let is_id = |id: &&str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let begun = |word| text.strip_prefix(word).filter(is_id).map(str::to_owned);
        let whole =
            text.rsplit_once(REBUILT).filter(|(_, at)| at.parse::<u64>().is_ok()).map_or(&*text, |(ready, _)| ready);
        let ready = whole.strip_suffix(FORMAT).and_then(|id| id.strip_suffix(' ')).filter(is_id);
        match (begun(PREPARING), begun(REBUILDING), ready) {
            (Some(id), _, _) => Mark::Preparing(id),
            (_, Some(id), _) => Mark::Rebuilding(id),
            (_, _, Some(_)) => Mark::Ready(Arc::from(&*text)),
            (None, None, None) => Mark::Foreign(text.into_owned()),
        }
    }
}

/// The value that the keys of all these shards hold, or why they cannot be served.
///
/// `expected` is the value that this process has found before.
pub(super) fn agreed(marks: &[(Shard, Mark)], expected: Option<&Arc<str>>) -> Result<Option<Arc<str>>, String> {
    let mut found = expected.cloned();
    let of = |wanted: fn(&Mark) -> bool| marks.iter().filter(|(_, mark)| wanted(mark)).count();
    let (absent, preparing) = (of(|mark| *mark == Mark::Absent), of(|mark| matches!(mark, Mark::Preparing(_))));
    let rebuilding = of(|mark| matches!(mark, Mark::Rebuilding(_)));
    let preparing = preparing + rebuilding;
    if rebuilding > 0 && expected.is_none() {
        return Err("is being rebuilt: wait for heartline rebuild, or run it again if it was interrupted".to_owned());
    }
    for (shard, mark) in marks {
        match (mark, &found) {
            (Mark::Ready(text), None) => found = Some(text.clone()),
            (Mark::Ready(text), Some(known)) if text == known => {}
            (Mark::Ready(text), Some(known)) => {
                return Err(format!(
                    "belongs to the deployment {} ({}), and other shards, or its data before, to {}: set redis.url \
                     to the Redis of one deployment",
                    id(text),
                    key(*shard),
                    id(known)
                ));
            }
            (Mark::Foreign(text), _) => {
                return Err(format!(
                    "was prepared as {text:?} ({}), this version reads \"ID {FORMAT}\": use the version that \
                     prepared it, or set redis.url to another Redis",
                    key(*shard)
                ));
            }
            (Mark::Absent | Mark::Preparing(_) | Mark::Rebuilding(_), _) => {}
        }
    }
    match (absent, preparing, expected.is_some()) {
        (0, 0, _) => Ok(found),
        (0, _, false) => Err("is only partly prepared: run heartline init again".to_owned()),
        (_, _, false) if found.is_none() && absent == marks.len() => Err(
            "is empty: it has no deployment key; if it is new, run: heartline init; if it was wiped, run: heartline \
             rebuild, which needs a history store, or restore it from a backup"
                .to_owned(),
        ),
        (_, _, false) if found.is_none() => Err("is only partly prepared: run heartline init again".to_owned()),
        _ => Err(format!(
            "has lost the keys of {} of {} shards of the deployment {}: some or all of its data was wiped; end all gateways, \
             and rebuild it from the history store (heartline rebuild) or restore it from a backup",
            absent + preparing,
            marks.len(),
            found.as_deref().map_or("that was here before", id)
        )),
    }
}

/// All shards there are.
pub(super) fn shards() -> impl Iterator<Item = Shard> {
    Shards::DEFAULT.all()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "6f1c0a52-0000-4000-8000-000000000001";
    const TWO: &str = "6f1c0a52-0000-4000-8000-000000000002";

    fn marks(marks: &[Mark]) -> Vec<(Shard, Mark)> {
        marks.iter().cloned().enumerate().map(|(shard, mark)| (Shard(shard as u16), mark)).collect()
    }

    fn of(id: &str) -> Mark {
        Mark::read(Some(ready(id).as_bytes()))
    }

    fn begun(id: &str) -> Mark {
        Mark::read(Some(preparing(id).as_bytes()))
    }

    fn refused(these: &[Mark], expected: Option<&str>, word: &str) {
        let expected = expected.map(|id| Arc::from(ready(id)));
        let told = agreed(&marks(these), expected.as_ref()).expect_err("refused");
        assert!(told.contains(word), "{told}");
    }

    #[test]
    fn a_deployment_mark_is_parsed_as_written() {
        assert_eq!(of(ONE), Mark::Ready(Arc::from(format!("{ONE} format=4 shards=1000 hash=siphash-2-4"))));
        assert_eq!(begun(ONE), Mark::Preparing(ONE.to_owned()));
        assert_eq!(Mark::read(None), Mark::Absent);
        assert_eq!(Mark::read(Some(rebuilding(ONE).as_bytes())), Mark::Rebuilding(ONE.to_owned()));
        let rebuilt = rebuilt(ONE, 1_795_150_000_000);
        assert_eq!(Mark::read(Some(rebuilt.as_bytes())), Mark::Ready(Arc::from(&*rebuilt)));
        assert_eq!((id(&rebuilt), rebuilt_at(&rebuilt)), (ONE, Some(1_795_150_000_000)));
        assert_eq!(rebuilt_at(&ready(ONE)), None);
        let formats = [3, 5].map(|format| format!("{ONE} format={format} shards=1000 hash=siphash-2-4"));
        let unknown = format!("{} rebuilt=x", ready(ONE));
        for other in ["", "x", "preparing ", &formats[0], &formats[1], "preparing x y", &unknown] {
            assert_eq!(Mark::read(Some(other.as_bytes())), Mark::Foreign(other.to_owned()));
        }
    }

    #[test]
    fn shards_of_one_ready_deployment_are_served() {
        let expected: Arc<str> = Arc::from(ready(ONE));
        assert_eq!(agreed(&marks(&[of(ONE), of(ONE)]), None), Ok(Some(expected.clone())));
        assert_eq!(agreed(&marks(&[of(ONE), of(ONE)]), Some(&expected)), Ok(Some(expected)));
        // A node without a shard.
        assert_eq!(agreed(&[], None), Ok(None));
    }

    #[test]
    fn new_interrupted_and_lost_deployments_get_different_advice() {
        refused(&[Mark::Absent, Mark::Absent], None, "heartline init; if it was wiped, run: heartline rebuild");
        refused(&[begun(ONE), Mark::Absent], None, "run heartline init again");
        refused(&[of(ONE), begun(ONE)], None, "run heartline init again");
        refused(&[of(ONE), Mark::Absent], None, "restore it from a backup");
        refused(&[Mark::Absent, Mark::Absent], Some(ONE), "has lost the keys of 2 of 2 shards");
        refused(&[begun(TWO), begun(TWO)], Some(ONE), "has lost the keys of 2 of 2 shards");
        let rebuilding = || Mark::read(Some(rebuilding(TWO).as_bytes()));
        refused(&[rebuilding(), rebuilding()], Some(ONE), "has lost the keys of 2 of 2 shards");
        refused(&[rebuilding(), Mark::Absent], None, "is being rebuilt");
    }

    #[test]
    fn another_deployment_or_format_is_refused() {
        refused(&[of(ONE), of(TWO)], None, TWO);
        refused(&[of(TWO), of(TWO)], Some(ONE), ONE);
        refused(&[of(ONE), Mark::Foreign("x format=2".to_owned())], None, "\"x format=2\"");
    }
}
