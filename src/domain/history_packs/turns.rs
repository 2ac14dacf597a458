//! The schedule of the regions of a worker.

use std::time::Duration;

use rand::RngExt;
use tokio::time::Instant;

use model::backoff::Backoff;
use model::shard::Region;
use storage::turn::Turn;

/// The regions of one worker.
pub struct Turns {
    interval: Duration,
    next: Vec<(Instant, Region, Backoff)>,
}

/// The pause after a failure.
const RETRY: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(10));

impl Turns {
    /// Spreads the turns of the regions over the interval.
    pub fn new(regions: impl Iterator<Item = Region>, interval: Duration, now: Instant) -> Self {
        let begin = |region: Region| {
            let share = f64::from(region.0) / f64::from(Region::COUNT);
            (now + interval.mul_f64(share), region, RETRY)
        };
        Turns { interval, next: regions.map(begin).collect() }
    }

    /// The next region, and the time of its turn.
    pub fn next(&self) -> (Instant, Region) {
        let (at, region, _) = self.next.iter().min_by_key(|(at, ..)| *at).expect("a worker has regions");
        (*at, *region)
    }

    /// Schedules the next turn of a region. `turn`: the answer of the store; `None`: the turn has failed.
    pub fn over(&mut self, region: Region, turn: Option<Turn>, now: Instant) {
        let (interval, mut random) = (self.interval, rand::rng());
        let Some((at, _, backoff)) = self.next.iter_mut().find(|(_, known, _)| *known == region) else { return };
        let pause = match turn {
            Some(Turn::Mine | Turn::Done) => interval,
            // The first gateway that looks after the lease has it next, so that regions spread over the gateways.
            Some(Turn::Taken(rest)) => rest.min(interval) + interval.mul_f64(random.random_range(0.0..0.1)),
            None => backoff.failed_with_jitter(random.random()),
        };
        if turn.is_some() {
            backoff.succeeded();
        }
        *at = now + pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_region_has_its_turn_once_in_an_interval_and_a_failed_one_sooner() {
        let (now, interval) = (Instant::now(), Duration::from_secs(30));
        let mut turns = Turns::new([Region(0), Region(50)].into_iter(), interval, now);
        assert_eq!(turns.next(), (now, Region(0)));
        turns.over(Region(0), Some(Turn::Mine), now);
        assert_eq!(turns.next(), (now + interval / 2, Region(50)));
        turns.over(Region(50), None, now);
        let (at, region) = turns.next();
        assert!(region == Region(50) && at > now && at <= now + Duration::from_millis(500));
        turns.over(Region(50), Some(Turn::Taken(Duration::from_secs(10))), now);
        let (at, _) = turns.next();
        assert!((10..=13).contains(&(at - now).as_secs()));
    }
}
