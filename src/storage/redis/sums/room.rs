//! Which shards give their pending sums to a flight, so that it has no more than it should.

use std::cmp::Reverse;

use ::redis::{Pipeline, Value};
use futures_util::future::try_join_all;

use super::{PART_SUMS, keys, number};
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
    shards: Vec<Gives>,
    /// Nothing that was pending waits for a later flight.
    pub all: bool,
    sums_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gives {
    Nothing,
    All,
    /// If it still has more than a flight.
    Part,
}

impl Giving {
    pub fn none(sums_max: usize) -> Self {
        Giving { shards: vec![Gives::Nothing; usize::from(Shards::DEFAULT.count())], all: false, sums_max }
    }

    /// The urgent shards first, then those that have waited longest. One that has more than a flight gives a part, but for an
    /// urgent one: see `take.lua`. An empty shard gives what it may get meanwhile.
    fn of(waiting: &[Waiting], sums_max: usize) -> Self {
        let mut order: Vec<usize> = (0..waiting.len()).filter(|index| waiting[*index].sums > 0).collect();
        order.sort_by_key(|index| (Reverse(waiting[*index].is_urgent), waiting[*index].since));
        let mut giving = Giving { shards: vec![Gives::All; waiting.len()], all: true, sums_max };
        let mut sums = 0;
        for index in order {
            let Waiting { sums: pending, is_urgent, .. } = waiting[index];
            let (gives, more) = match pending > sums_max && !is_urgent {
                true => (Gives::Part, giving.part()),
                false => (Gives::All, pending),
            };
            let has_room = sums == 0 || sums + more <= sums_max;
            giving.all &= has_room && gives == Gives::All;
            if has_room {
                sums += more;
                giving.shards[index] = gives;
            } else {
                giving.shards[index] = Gives::Nothing;
            }
        }
        giving
    }

    /// Of a shard that has more than a flight.
    fn part(&self) -> usize {
        self.sums_max.min(PART_SUMS)
    }

    /// The shards that are asked together, and those that are asked one by one after them.
    pub fn steps(&self) -> (Vec<Shard>, Vec<Shard>) {
        Shards::DEFAULT.all().partition(|shard| self.of_shard(*shard) != Gives::Part)
    }

    fn of_shard(&self, shard: Shard) -> Gives {
        self.shards.get(usize::from(shard.0)).copied().unwrap_or(Gives::Nothing)
    }

    /// A digit for each of these shards, the most sums of one that gives all, and the size of a part.
    pub fn args(&self, shards: &[Shard]) -> Vec<Vec<u8>> {
        let digit = |shard: &Shard| if self.of_shard(*shard) == Gives::Nothing { b'0' } else { b'1' };
        let digits = shards.iter().map(digit).collect();
        vec![digits, self.sums_max.to_string().into_bytes(), self.part().to_string().into_bytes()]
    }
}

/// The shards that give to a flight of at most so many sums.
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

    /// A letter for each shard: `-` nothing, `a` all, `p` a part.
    fn chosen(waiting: &[Waiting], sums_max: usize) -> (String, bool) {
        let giving = Giving::of(waiting, sums_max);
        let letter = |gives: &Gives| match gives {
            Gives::Nothing => '-',
            Gives::All => 'a',
            Gives::Part => 'p',
        };
        (giving.shards.iter().map(letter).collect(), giving.all)
    }

    fn expected(letters: &str, all: bool) -> (String, bool) {
        (letters.to_owned(), all)
    }

    #[test]
    fn what_has_waited_longest_goes_first() {
        let waiting = [of(6, 3), of(0, 0), of(5, 1), of(4, 2)];
        assert_eq!(chosen(&waiting, 15), expected("aaaa", true));
        assert_eq!(chosen(&waiting, 14), expected("-aaa", false));
        assert_eq!(chosen(&waiting, 8), expected("-aa-", false));
        let urgent = Waiting { is_urgent: true, ..of(6, 3) };
        assert_eq!(chosen(&[urgent, of(0, 0), of(5, 1), of(4, 2)], 8), expected("aa--", false));
        assert_eq!(chosen(&[], 10), expected("", true));
    }

    #[test]
    fn a_shard_that_has_more_than_a_flight_gives_a_part() {
        assert_eq!(chosen(&[of(9, 2), of(1, 3), of(20, 1)], 10), expected("--p", false));
        assert_eq!(chosen(&[of(20, 1)], 10), expected("p", false));
        assert_eq!(chosen(&[of(10, 1)], 10), expected("a", true));
        // Five parts of 2,000 are as much as a flight has.
        let several: Vec<Waiting> = (0..6).map(|since| of(300_000, since)).collect();
        assert_eq!(chosen(&several, 10_000), expected("ppppp-", false));
        assert_eq!(chosen(&[of(10_001, 1), of(9_000, 2), of(8_000, 3)], 10_000), expected("p-a", false));
    }

    #[test]
    fn one_with_a_deletion_gives_all() {
        let urgent = Waiting { is_urgent: true, ..of(20, 3) };
        assert_eq!(chosen(&[urgent], 10), expected("a", true));
        assert_eq!(chosen(&[of(1, 1), urgent], 10), expected("-a", false));
    }

    #[test]
    fn those_that_give_a_part_are_asked_one_by_one() {
        let mut waiting = vec![Waiting::default(); usize::from(Shards::DEFAULT.count())];
        (waiting[3], waiting[7], waiting[8]) = (of(30_000, 1), of(30_000, 2), of(9_000, 3));
        let giving = Giving::of(&waiting, 10_000);
        let (together, one_by_one) = giving.steps();
        assert_eq!((together.len(), one_by_one), (998, vec![Shard(3), Shard(7)]));
        let args = giving.args(&[Shard(2), Shard(3), Shard(8)]);
        assert_eq!(args, ["110", "10000", "2000"].map(|arg| arg.as_bytes().to_vec()));
    }

    #[test]
    fn to_a_flight_under_way_no_shard_gives() {
        let giving = Giving::none(10);
        let args = ["00", "10", "10"].map(|arg| arg.as_bytes().to_vec());
        assert_eq!((giving.args(&[Shard(0), Shard(999)]), giving.all), (args.into(), false));
        assert_eq!(giving.steps().1, []);
    }
}
