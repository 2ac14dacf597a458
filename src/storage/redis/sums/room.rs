//! Which shards give their pending sums to a flight, so that it has about as many as it should.

use std::cmp::Reverse;

use ::redis::{Pipeline, Value};
use futures_util::future::try_join_all;

use super::{keys, number};
use crate::value::{self, DecodeError};
use crate::{Redis, checked, joined};
use model::shard::{Shard, Shards};
use storage::store_error::StoreError;

/// The pending sums of one shard.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    sums: usize,
    /// When the oldest of them was counted, milliseconds.
    since: u64,
    /// A deletion is among them, and is waited for.
    is_urgent: bool,
}

/// The shards that give.
#[derive(Debug, PartialEq, Eq)]
pub struct Giving {
    /// For each shard, in their order.
    shards: Vec<bool>,
    /// Nothing that was pending waits for a later flight.
    pub all: bool,
}

impl Giving {
    pub fn none() -> Self {
        Giving { shards: vec![false; usize::from(Shards::DEFAULT.count())], all: false }
    }

    /// The urgent shards first, then those that have waited longest. Each gives all that it has, so one may exceed the
    /// room alone. An empty shard gives what it may get meanwhile.
    fn of(waiting: &[Waiting], sums_max: usize) -> Self {
        let mut order: Vec<usize> = (0..waiting.len()).filter(|index| waiting[*index].sums > 0).collect();
        order.sort_by_key(|index| (Reverse(waiting[*index].is_urgent), waiting[*index].since));
        let mut giving = Giving { shards: vec![true; waiting.len()], all: true };
        let mut sums = 0;
        for index in order {
            let more = sums + waiting[index].sums;
            if sums > 0 && more > sums_max {
                (giving.shards[index], giving.all) = (false, false);
            } else {
                sums = more;
            }
        }
        giving
    }

    /// A digit for each of these shards.
    pub fn digits(&self, shards: &[Shard]) -> Vec<u8> {
        let gives = |shard: &Shard| self.shards.get(usize::from(shard.0)).is_some_and(|gives| *gives);
        shards.iter().map(|shard| if gives(shard) { b'1' } else { b'0' }).collect()
    }
}

/// The shards that give to a flight of about so many sums.
pub async fn choose(redis: &Redis, sums_max: usize) -> Result<Giving, StoreError> {
    let mut shards: Vec<Shard> = Shards::DEFAULT.all().collect();
    let parts = joined::split(redis, &mut shards, |shard| *shard, |_| 1);
    let asked = parts.into_iter().map(|part| {
        let mut commands = Pipeline::with_capacity(3 * part.len());
        for shard in &*part {
            commands.hlen(keys::pending(*shard)).hlen(keys::pending_counters(*shard));
            commands.hmget(keys::state(*shard), &["since", "urgent"]);
        }
        checked::ask(redis, part[0], commands)
    });
    let answers = try_join_all(asked).await?.concat();
    let (of_shards, []) = answers.as_chunks::<3>() else { return Err(MALFORMED.into()) };
    let waiting = of_shards.iter().map(waiting).collect::<Result<Vec<_>, _>>()?;
    Ok(Giving::of(&waiting, sums_max))
}

const MALFORMED: DecodeError = DecodeError("what is pending in a shard");

fn waiting([views, counters, state]: &[Value; 3]) -> Result<Waiting, DecodeError> {
    let count = |value: &Value| value::number(value.clone()).map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let state = value::array(state.clone())?.into_iter().map(number).collect::<Result<Vec<_>, _>>()?;
    let [since, urgent] = state[..] else { return Err(MALFORMED) };
    let sums = count(views)?.saturating_add(count(counters)?);
    Ok(Waiting { sums, since: since.unwrap_or(0), is_urgent: urgent.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sums: usize, since: u64) -> Waiting {
        Waiting { sums, since, is_urgent: false }
    }

    fn chosen(waiting: &[Waiting], sums_max: usize) -> (Vec<u8>, bool) {
        let giving = Giving::of(waiting, sums_max);
        let shards: Vec<Shard> = (0..waiting.len() as u16).map(Shard).collect();
        (giving.digits(&shards), giving.all)
    }

    #[test]
    fn what_has_waited_longest_goes_first() {
        let waiting = [of(6, 3), of(0, 0), of(5, 1), of(4, 2)];
        assert_eq!(chosen(&waiting, 15), (b"1111".to_vec(), true));
        assert_eq!(chosen(&waiting, 14), (b"0111".to_vec(), false));
        assert_eq!(chosen(&waiting, 8), (b"0110".to_vec(), false));
        let urgent = Waiting { is_urgent: true, ..of(6, 3) };
        assert_eq!(chosen(&[urgent, of(0, 0), of(5, 1), of(4, 2)], 8), (b"1100".to_vec(), false));
    }

    #[test]
    fn one_shard_gives_even_if_it_has_more_than_there_is_room() {
        assert_eq!(chosen(&[of(9, 2), of(1, 3), of(20, 1)], 10), (b"001".to_vec(), false));
        assert_eq!(chosen(&[of(20, 1)], 10), (b"1".to_vec(), true));
        assert_eq!(chosen(&[], 10), (Vec::new(), true));
    }

    #[test]
    fn to_a_flight_under_way_no_shard_gives() {
        assert_eq!((Giving::none().digits(&[Shard(0), Shard(999)]), Giving::none().all), (b"00".to_vec(), false));
    }
}
