//! The users that race at the same time.

use std::ops::Range;
use std::time::Duration;

use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::time::timeout;

use super::super::dial;
use super::super::dice::Dice;
use super::super::target::{Target, Tokens};
use super::super::text::Names;
use super::racer::{Heard, Racer};

/// Sockets that connect at the same time.
const CONNECTING_MAX: usize = 256;
const CONNECT_MAX: Duration = Duration::from_secs(120);
/// The longest time from the first beat to the last answer of a wave. It is long, since a slow race is still a race.
const FINISH_MAX: Duration = Duration::from_secs(300);

/// The settings common to all waves.
pub struct Course {
    pub target: Target,
    pub tokens: Tokens,
    pub run: u64,
    pub first_mid: u64,
    pub racers: u64,
}

/// The order of the beats of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// All beats of a user before those of the next; otherwise the users take turns.
    by_user: bool,
    /// All beats have one content; otherwise each racer plays its own.
    one_content: bool,
}

/// The messages to the racers of one user.
pub struct UserResult {
    pub mid: u64,
    /// The number of contents that the racers played.
    pub contents: u64,
    pub heard: Vec<Heard>,
}

impl Order {
    /// Waves take the orders in turns.
    pub fn of_wave(number: usize) -> Self {
        Order { by_user: number.is_multiple_of(2), one_content: !(number / 2).is_multiple_of(2) }
    }

    /// (user, racer) of each beat.
    fn places(self, users: u64, racers: u64) -> impl Iterator<Item = (u64, u64)> {
        (0..users * racers).map(move |index| {
            if self.by_user { (index / racers, index % racers) } else { (index % users, index / users) }
        })
    }
}

/// Connects all racers, starts them together, and listens until each has its answer.
pub async fn run(course: &Course, users: Range<u64>, order: Order) -> Result<Vec<UserResult>, String> {
    let count = users.end - users.start;
    let enter = |index: u64| enter(course, users.start + index / course.racers, index % course.racers);
    let places = stream::iter(0..count * course.racers);
    let racers: Vec<Racer> = places.map(enter).buffered(CONNECTING_MAX).try_collect().await?;
    let mut dice = Dice::new(course.run ^ users.start);
    for (user, number) in order.places(count, course.racers) {
        let racer = &racers[(user * course.racers + number) as usize];
        let names = Names { run: course.run, mid: course.first_mid + racer.user };
        let (content, later) = if order.one_content { (1, number) } else { (1 + number as u32, 0) };
        let started = racer.start(&names, content, later, dice.roll() as u32);
        started.map_err(|error| format!("a racer cannot send its beat: {error}"))?;
    }
    let finishes = try_join_all(racers.into_iter().map(|racer| racer.finish(dice.roll() as u32)));
    let finished = timeout(FINISH_MAX, finishes).await;
    let finished = finished.map_err(|_| format!("not all racers were told within {FINISH_MAX:?}"))?;
    let finished = finished.map_err(|why| format!("a racer fell: {why}"))?;
    let contents = if order.one_content { 1 } else { course.racers };
    let mut results: Vec<_> =
        users.map(|user| UserResult { mid: course.first_mid + user, contents, heard: Vec::new() }).collect();
    let first = results.first().map_or(0, |result| result.mid) - course.first_mid;
    for (user, heard) in finished {
        results[(user - first) as usize].heard.push(heard);
    }
    Ok(results)
}

async fn enter(course: &Course, user: u64, number: u64) -> Result<Racer, String> {
    let socket = user * course.racers + number;
    let source = dial::source(course.target.address, course.run, socket, 0);
    let token = course.tokens.of(course.first_mid + user);
    let dialed = timeout(CONNECT_MAX, dial::dial(&course.target, source, &token)).await;
    let dialed = dialed.unwrap_or(Err(dial::DialError::Timeout));
    let dialed = dialed.map_err(|error| format!("a racer cannot be connected: {error}"))?;
    Ok(Racer::new(user, dialed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_order_has_every_racer_once() {
        for number in 0..4 {
            let mut places: Vec<_> = Order::of_wave(number).places(3, 4).collect();
            places.sort_unstable();
            let all: Vec<_> = (0..3).flat_map(|user| (0..4).map(move |racer| (user, racer))).collect();
            assert_eq!(places, all);
        }
        let orders: Vec<_> = (0..4).map(Order::of_wave).collect();
        assert!((0..4).all(|one| (0..one).all(|other| orders[one] != orders[other])), "{orders:?}");
    }
}
