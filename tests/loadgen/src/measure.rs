//! One run: connects, loads and reads back, and measures the cost.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::{sleep, sleep_until};

use super::end::{self, End};
use super::latency::{Latencies, Recorded};
use super::load::Load;
use super::message::{Message, Order, Readback};
use super::meter::{self, Watched};
use super::outcome::{Client, Outcome, Process};
use super::progress::Progress;
use super::tally::Counts;
use super::target::{Credentials, Target, wall_ms};
use super::workers::Workers;

/// The time from the order to begin to the first beat.
const LEAD: Duration = Duration::from_millis(300);

pub struct Run<'a> {
    pub load: &'a Load,
    pub targets: &'a [Target],
    pub credentials: &'a Credentials,
    pub watched: &'a [Watched],
    /// The time from the last ack to the last measurement of the memory.
    pub settle: Duration,
    /// Receives the start of the load.
    pub begins: Option<oneshot::Sender<Instant>>,
    /// The end of the load, if not after its duration.
    pub end: Option<End>,
}

impl Run<'_> {
    pub async fn measure(mut self) -> Result<Outcome, String> {
        let begins = self.begins.take();
        let rss_before = self.sums(meter::rss);
        let mut workers = Workers::start(self.load, self.targets, self.credentials)?;
        let progress = Progress::new(self.load.sockets, workers.crowds());
        connect(&mut workers, &progress).await?;
        let rss_connected = self.sums(meter::rss);
        let loaded = self.load(&mut workers, progress, begins).await?;
        sleep(self.settle).await;
        let rss_loaded = self.sums(meter::rss);
        let client_rss = workers.pids().into_iter().filter_map(meter::rss).sum();
        let verified = match self.load.verify.filter(|_| !self.targets.iter().all(|target| target.echo)) {
            Some(_) => Some(verify(&mut workers).await?),
            None => None,
        };
        let acked = loaded.counts.acked_measured;
        let seconds = loaded.seconds;
        let processes = self.names().into_iter().map(|(name, pids)| {
            let (before, after, cpu) = (rss_before[name], rss_loaded[name], loaded.cpu[name]);
            let process = Process {
                pids,
                cpu_us_per_ack: per_ack(cpu, acked),
                cpu_cores: cpu.map(|cpu| cpu / seconds),
                rss_before: before,
                rss_connected: rss_connected[name],
                rss: after,
                rss_per_socket: per_socket(before, after, self.load.sockets),
            };
            (name.to_owned(), process)
        });
        let client = Client {
            processes: workers.pids().len(),
            threads: workers.crowds(),
            cpu_us_per_ack: per_ack(Some(loaded.client_cpu), acked),
            cpu_cores: loaded.client_cpu / seconds,
            rss: client_rss,
        };
        let latencies = (loaded.latency, loaded.lag);
        let outcome =
            Outcome::new(self.load, seconds, &loaded.counts, latencies, processes.collect(), client, verified);
        Ok(Outcome { by_second: loaded.by_second, ..outcome })
    }

    /// Processes of the same name are measured together.
    fn names(&self) -> BTreeMap<&str, Vec<u32>> {
        let mut names = BTreeMap::<_, Vec<_>>::new();
        self.watched.iter().for_each(|watched| names.entry(watched.name.as_str()).or_default().push(watched.pid));
        names
    }

    /// `None` if one of the processes does not exist.
    fn sums<T: Sum>(&self, read: impl Fn(u32) -> Option<T>) -> BTreeMap<&str, Option<T>> {
        self.names().into_iter().map(|(name, pids)| (name, pids.into_iter().map(&read).sum())).collect()
    }

    async fn load(
        &self,
        workers: &mut Workers,
        mut progress: Progress,
        begins: Option<oneshot::Sender<Instant>>,
    ) -> Result<Loaded<'_>, String> {
        let start = Instant::now() + LEAD;
        // The receiver may be gone.
        begins.map(|begins| begins.send(start));
        workers.order(Order::Load { at: wall_ms() + LEAD.as_millis() as u64 })?;
        let pids = workers.pids();
        let used = || {
            let client: f64 = pids.iter().copied().filter_map(meter::cpu_seconds).sum();
            (self.sums(meter::cpu_seconds), client)
        };
        let measured = async {
            sleep_until((start + self.load.warm_up).into()).await;
            let before = used();
            let lasted = tokio::select! {
                () = sleep_until((start + self.load.lasts()).into()) => self.load.lasts(),
                () = end::of(self.end.clone()) => start.elapsed(),
            };
            Ok((before, used(), lasted.saturating_sub(self.load.warm_up).as_secs_f64()))
        };
        let mut counts = Counts::default();
        let (mut latency, mut lag) = (Latencies::new(), Latencies::new());
        let mut by_second = Vec::new();
        let heard = workers.receive_until(self.end.clone(), |message| match message {
            Message::Second { number, second } => {
                progress.second(number, &second);
                false
            }
            Message::Loaded { counts: some, latency: latencies, lag: lags, seconds } => {
                counts.add(&some);
                by_second.resize_with(seconds.len().max(by_second.len()), Recorded::default);
                by_second.iter_mut().zip(seconds).for_each(|(all, some)| all.append(some));
                latency.add(&latencies);
                lag.add(&lags);
                true
            }
            _ => false,
        });
        let (((before, client_before), (after, client_after), seconds), ()) = tokio::try_join!(measured, heard)?;
        let used =
            |(name, before): (_, Option<f64>)| (name, after[name].zip(before).map(|(after, before)| after - before));
        let cpu = before.into_iter().map(used).collect();
        Ok(Loaded { seconds, counts, latency, lag, by_second, cpu, client_cpu: client_after - client_before })
    }
}

struct Loaded<'a> {
    /// The measured duration.
    seconds: f64,
    counts: Counts,
    latency: Latencies,
    lag: Latencies,
    by_second: Vec<Recorded>,
    /// CPU seconds in the measured time; `None`: the process did not exist all the time.
    cpu: BTreeMap<&'a str, Option<f64>>,
    client_cpu: f64,
}

async fn connect(workers: &mut Workers, progress: &Progress) -> Result<(), String> {
    workers.order(Order::Connect)?;
    let began = Instant::now();
    let mut connected = BTreeMap::new();
    let mut last = 0;
    let all = workers.receive(|message| match message {
        Message::Connecting { crowd, connected: some } => {
            connected.insert(crowd, some);
            let second = began.elapsed().as_secs();
            if second > last {
                last = second;
                progress.connecting(second, connected.values().sum());
            }
            false
        }
        Message::Connected => true,
        _ => false,
    });
    all.await?;
    progress.connected(began.elapsed());
    Ok(())
}

async fn verify(workers: &mut Workers) -> Result<Readback, String> {
    workers.order(Order::Verify)?;
    let mut found = Readback::default();
    let all = workers.receive(|message| match message {
        Message::Verified(some) => {
            found.add(&some);
            true
        }
        _ => false,
    });
    all.await?;
    Ok(found)
}

fn per_ack(seconds: Option<f64>, acked: u64) -> Option<f64> {
    seconds.filter(|_| acked > 0).map(|seconds| seconds * 1e6 / acked as f64)
}

fn per_socket(before: Option<u64>, after: Option<u64>, sockets: u64) -> Option<f64> {
    Some((after? as f64 - before? as f64) / sockets as f64)
}
