//! The attacker's process: opens connections at a given pace, and reports how they ended.

use std::io::{self, BufRead};
use std::process::exit;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::super::tally::{self, Kinds};
use super::super::target::wall_ms;
use super::super::worker::line;
use super::ending::Ending;
use super::plan::Attack;
use super::scene::{Assault, Scene};
use super::{batches, bytes, floods, handshakes, readers, returns};

/// The delay from the last user's connection until all offline batches are sent.
const GATHERED: Duration = Duration::from_millis(500);

/// The result of an attack; one line on standard output.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Toll {
    pub endings: Kinds,
    /// The most connections at one time, and the lifetime of the longest connection.
    pub open_peak: u64,
    pub longest_ms: u64,
}

/// Attacks, reports the result, and stays until its parent ends, so that the parent can measure it.
pub fn run() -> Result<(), String> {
    let assault: Assault = line(&mut io::stdin().lock().lines())?;
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        exit(0)
    });
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    let toll = LocalSet::new().block_on(&runtime, attack(assault));
    println!("{}", serde_json::to_string(&toll).map_err(|error| error.to_string())?);
    loop {
        thread::park();
    }
}

async fn attack(assault: Assault) -> Toll {
    let begins = Instant::now() + Duration::from_millis(assault.at.saturating_sub(wall_ms()));
    let scene = Rc::new(Scene::new(assault));
    let Assault { connections, per_second, patience, open_max, .. } = scene.assault;
    let opened = begins + Duration::from_secs_f64(connections as f64 / per_second);
    let mut open = JoinSet::new();
    let mut toll = Toll::default();
    for number in 0..connections {
        sleep_until(begins + Duration::from_secs_f64(number as f64 / per_second)).await;
        while let Some(ended) = open.try_join_next() {
            toll.count(ended.expect("no panic"));
        }
        let scene = scene.clone();
        open.spawn_local(async move {
            let born = Instant::now();
            let ending = one(&scene, number, opened + GATHERED).await;
            (ending, born.elapsed())
        });
        toll.open_peak = toll.open_peak.max(open.len() as u64);
    }
    while open.len() as u64 > open_max
        && let Ok(Some(ended)) = timeout_at(opened + patience, open.join_next()).await
    {
        toll.count(ended.expect("no panic"));
    }
    let left = open.len() as u64;
    if left > 0 {
        toll.endings.insert(Ending::Open.to_string(), left);
    }
    toll
}

impl Toll {
    fn count(&mut self, (ending, lived): (Ending, Duration)) {
        tally::count(&mut self.endings, &ending.to_string());
        self.longest_ms = self.longest_ms.max(lived.as_millis() as u64);
    }
}

/// Runs one connection to its end.
async fn one(scene: &Scene, number: u64, all_are_there: Instant) -> Ending {
    let key = scene.mask();
    match scene.assault.attack {
        Attack::SlowHandshakes if number.is_multiple_of(2) => handshakes::endless_head(scene, number).await,
        Attack::SlowHandshakes => handshakes::silence(scene, number).await,
        Attack::SlowReaders => readers::deaf(scene, number).await,
        Attack::Frames => floods::flood(scene, number, bytes::frames(key)).await,
        Attack::Pings => floods::flood(scene, number, bytes::pings(key)).await,
        Attack::Fragments => floods::flood(scene, number, bytes::fragments(key)).await,
        Attack::Oversized => floods::flood(scene, number, bytes::oversized(number, key)).await,
        Attack::ReconnectStorm => returns::come_and_go(scene, number).await,
        Attack::OneUser => returns::crowd_in(scene, number).await,
        Attack::OfflineBatches => batches::outbox(scene, number, all_are_there).await,
    }
}
