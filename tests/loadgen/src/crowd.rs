//! One thread of sockets, from the first connect to the last record read back.

use std::io::{self, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::{LocalSet, spawn_local, yield_now};
use tokio::time::{MissedTickBehavior, interval, interval_at, sleep, sleep_until};

use super::life;
use super::member::Member;
use super::message::{Message, Order, Task};
use super::readback;
use super::stage::Stage;
use super::target::wall_ms;

/// Beats sent in one turn before others on this thread get theirs.
const BATCH: u64 = 256;
const DONE_EVERY: Duration = Duration::from_millis(5);
const SECOND: Duration = Duration::from_secs(1);

/// Runs one crowd to its end.
pub fn run(task: &Task, crowd: u32, orders: mpsc::Receiver<Order>) {
    let ended = tokio::runtime::Builder::new_current_thread().enable_all().build().map(|runtime| {
        let stage = Stage::new(task, crowd);
        LocalSet::new().block_on(&runtime, obey(crowd, stage, Member::all(task, crowd), orders))
    });
    if let Err(why) = ended.unwrap_or_else(|error| Err(error.to_string())) {
        tell(&Message::Failed { why });
    }
}

/// Writes a line to standard output. If it is no longer read, this process ends.
fn tell(message: &Message) {
    let line = serde_json::to_string(message).expect("messages have string keys");
    if writeln!(io::stdout().lock(), "{line}").is_err() {
        std::process::exit(1);
    }
}

async fn obey(
    crowd: u32,
    stage: Rc<Stage>,
    members: Vec<Rc<Member>>,
    mut orders: mpsc::Receiver<Order>,
) -> Result<(), String> {
    while let Some(order) = orders.recv().await {
        match order {
            Order::Connect => {
                connect(crowd, &stage, &members).await?;
                tell(&Message::Connected);
            }
            Order::Load { at } => {
                load(&stage, &members, at, &mut orders).await;
                let unanswered = members.iter().map(|member| member.unanswered() as u64).sum();
                let mut tally = stage.tally.borrow_mut();
                tally.counts.unanswered = unanswered;
                let counts = Box::new(tally.counts.clone());
                let (latency, lag, seconds) = (tally.latency.take(), tally.lag.take(), tally.take_seconds());
                tell(&Message::Loaded { counts, latency, lag, seconds });
            }
            // The load had ended before the order came.
            Order::End => {}
            Order::Verify => tell(&Message::Verified(readback::all(&stage, &members).await)),
        }
    }
    Ok(())
}

async fn connect(crowd: u32, stage: &Rc<Stage>, members: &[Rc<Member>]) -> Result<(), String> {
    let every = Duration::from_secs_f64(stage.load.sockets as f64 / stage.load.connect_rate / members.len() as f64);
    for member in members {
        spawn_local(life::begin(stage.clone(), member.clone(), every));
    }
    let mut seconds = interval(SECOND);
    while stage.connected.get() < members.len() as u64 {
        tokio::select! {
            () = stage.entered.notified() => {}
            _ = seconds.tick() => tell(&Message::Connecting { crowd, connected: stage.connected.get() }),
        }
        if let Some(failure) = stage.failure.take() {
            return Err(failure);
        }
    }
    Ok(())
}

async fn load(stage: &Rc<Stage>, members: &[Rc<Member>], at: u64, orders: &mut mpsc::Receiver<Order>) {
    let start = Instant::now() + Duration::from_millis(at.saturating_sub(wall_ms()));
    stage.begin(start);
    let seconds = spawn_local(tell_seconds(stage.clone(), start));
    let mut next = 0;
    let is_told_to_end = tokio::select! {
        () = send_all(stage, members, &mut next) => false,
        // No order except the end comes during a load.
        order = orders.recv() => order.is_some(),
    };
    if is_told_to_end {
        stage.end();
        send_all(stage, members, &mut next).await;
    }
    let deadline = Instant::now() + stage.load.drain;
    while !stage.is_done() && Instant::now() < deadline {
        sleep(DONE_EVERY).await;
    }
    seconds.abort();
}

/// Sends from the beat `next` on. It may be cancelled, and called again to go on.
async fn send_all(stage: &Stage, members: &[Rc<Member>], next: &mut u64) {
    let schedule = stage.schedule();
    while *next < schedule.total {
        let now = stage.now().unwrap_or(0);
        let due = schedule.due(now);
        let end = due.min(*next + BATCH);
        for beat in *next..end {
            let (slot, turn) = schedule.turn(beat);
            members[slot].turn(stage, turn, now);
        }
        *next = end;
        if *next < due {
            yield_now().await;
        } else {
            sleep_until(stage.moment(schedule.intended(*next)).into()).await;
        }
    }
}

async fn tell_seconds(stage: Rc<Stage>, start: Instant) {
    let mut seconds = interval_at((start + SECOND).into(), SECOND);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for number in 1.. {
        seconds.tick().await;
        let second = stage.tally.borrow_mut().take_second();
        tell(&Message::Second { number, second });
    }
}
