//! Honest users that connect during an attack, to measure its effect on new connections.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::task::spawn_local;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::super::dial;
use super::super::latency::{Latencies, Percentiles};
use super::super::tally::{self, Kinds};
use super::super::target::{Target, Tokens};

/// The time between two newcomers.
const EVERY: Duration = Duration::from_millis(50);
/// A client that is not welcomed within this time counts as refused.
const WELCOME_MAX: Duration = Duration::from_secs(10);
/// The number of the first newcomer's socket, so that newcomers have addresses of their own.
const FIRST_SOCKET: u64 = 1 << 32;

/// The newcomers of one period.
#[derive(Clone, Debug, Serialize)]
pub struct Arrivals {
    pub tried: u64,
    pub welcomed: u64,
    /// The reasons for the others, at their first and only try.
    pub refused: Kinds,
    /// The time from the first packet to the welcome.
    pub welcome_ms: Percentiles,
}

/// The start of a newcomer, and the time to its welcome, or the reason for its refusal.
type Arrival = (Instant, Result<Duration, String>);

#[derive(Clone, Default)]
pub struct Newcomers(Rc<RefCell<Vec<Arrival>>>);

impl Newcomers {
    /// Newcomers, one after the other, each with a user of its own, from `first_mid` on. Each closes when it is
    /// welcomed.
    pub async fn come(&self, target: Target, tokens: Tokens, run: u64, first_mid: u64) {
        let (target, tokens) = (Rc::new(target), Rc::new(tokens));
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        for number in 0.. {
            ticks.tick().await;
            let (arrivals, target, tokens) = (self.0.clone(), target.clone(), tokens.clone());
            spawn_local(async move {
                let came = Instant::now();
                let source = dial::source(target.address, run, FIRST_SOCKET + number, 0);
                let token = tokens.of(first_mid + number);
                let dialed = timeout(WELCOME_MAX, dial::dial(&target, source, &token)).await;
                let welcomed = match dialed {
                    Ok(Ok(_)) => Ok(came.elapsed()),
                    Ok(Err(error)) => Err(error.to_string()),
                    Err(_) => Err("no welcome in time".to_owned()),
                };
                arrivals.borrow_mut().push((came, welcomed));
            });
        }
    }

    /// The newcomers of a period.
    pub fn between(&self, from: Instant, to: Instant) -> Arrivals {
        let mut latencies = Latencies::new();
        let (mut tried, mut welcomed, mut refused) = (0, 0, Kinds::new());
        for (_, result) in self.0.borrow().iter().filter(|(came, _)| (from..to).contains(came)) {
            tried += 1;
            match result {
                Ok(took) => {
                    welcomed += 1;
                    latencies.record(took.as_nanos() as u64);
                }
                Err(why) => tally::count(&mut refused, why),
            }
        }
        Arrivals { tried, welcomed, refused, welcome_ms: latencies.percentiles() }
    }
}
