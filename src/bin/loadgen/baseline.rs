//! The gateway beside a bare echo server and a naive gateway: the same load on each, in turns.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::load::Load;
use super::outcome::Outcome;
use super::served::{ServerOptions, Sort};
use super::target::Credentials;

const DELAYED: &str = "gateway_ack_delay";
/// The last run's dying sockets are not the next one's to bear.
const REST: Duration = Duration::from_secs(1);

/// Who takes part, under which name, and with which load.
pub struct Contender {
    pub name: &'static str,
    pub sort: Sort,
    pub load: Load,
}

#[derive(Serialize)]
pub struct Baseline {
    rounds: u32,
    contenders: BTreeMap<&'static str, Medians>,
    /// Of CPU for each ack.
    ratios: BTreeMap<String, f64>,
    runs: Vec<(&'static str, Outcome)>,
}

/// Medians over the rounds.
#[derive(Clone, Serialize)]
struct Medians {
    cpu_us_per_ack: Option<f64>,
    rate_reached: f64,
    p50_ms: f64,
    p99_ms: f64,
    lost: u64,
    late: u64,
    rss_per_socket: Option<f64>,
    client_cpu_us_per_ack: Option<f64>,
    /// Whether every round kept the rate. If not, the cost of an ack says little.
    kept_up: bool,
}

/// With an ack delay in `load`, the gateway takes part twice: with it, and like the others without.
pub fn contenders(load: &Load) -> Vec<Contender> {
    let plain = Load { ack_delay: Duration::ZERO, in_flight: 1, ..load.clone() };
    let one = |sort: Sort| Contender { name: sort.name(), sort, load: plain.clone() };
    let mut all = vec![one(Sort::Echo), one(Sort::Naive), one(Sort::Gateway)];
    if !load.ack_delay.is_zero() {
        // As many as a socket makes before the oldest is acked at the latest, and a few for the way.
        let made = load.ack_delay.as_secs_f64() * load.rate / load.sockets as f64;
        let in_flight = load.in_flight.max(made.ceil() as u32 + 4);
        all.push(Contender { name: DELAYED, sort: Sort::Gateway, load: Load { in_flight, ..load.clone() } });
    }
    all
}

impl Baseline {
    /// Runs them all, `rounds` times.
    pub async fn run(
        load: &Load,
        rounds: u32,
        servers: &ServerOptions,
        credentials: &Credentials,
        settle: Duration,
    ) -> Result<Self, String> {
        let contenders = contenders(load);
        let mut runs = Vec::new();
        for round in 0..rounds {
            for turn in 0..contenders.len() {
                // Nobody is always the first.
                let contender = &contenders[(turn + round as usize) % contenders.len()];
                eprintln!("--- {}, round {} of {rounds}", contender.name, round + 1);
                let served = contender.sort.start(servers, &contender.load, credentials).await?;
                let watched = [served.watched.clone()];
                let outcome = super::measure::Run {
                    load: &contender.load,
                    targets: std::slice::from_ref(&served.target),
                    credentials,
                    watched: &watched,
                    settle,
                };
                runs.push((contender.name, outcome.measure().await?));
                drop(served);
                tokio::time::sleep(REST).await;
            }
        }
        let medians = |contender: &Contender| {
            let of: Vec<_> = runs.iter().filter(|(name, _)| *name == contender.name).map(|(_, run)| run).collect();
            (contender.name, Medians::of(contender.sort.name(), &of))
        };
        let contenders: BTreeMap<_, _> = contenders.iter().map(medians).collect();
        let ratios = ratios(&contenders);
        Ok(Baseline { rounds, contenders, ratios, runs })
    }

    pub fn missing(&self) -> u64 {
        self.runs.iter().map(|(_, run)| run.missing()).sum()
    }

    /// For people.
    pub fn table(&self) -> String {
        let mut table = format!(
            "{:<18}{:>12}{:>10}{:>10}{:>10}{:>10}{:>8}{:>8}{:>12}\n",
            "median of runs", "us CPU/ack", "to echo", "acked/s", "p50 ms", "p99 ms", "late", "lost", "RSS/socket"
        );
        let or_dash = |number: Option<f64>, digits: usize| match number {
            Some(number) => format!("{number:.digits$}"),
            None => "-".to_owned(),
        };
        for (name, of) in &self.contenders {
            let ratio = self.ratios.get(&format!("{name}_to_echo")).copied();
            table += &format!(
                "{name:<18}{:>12}{:>10}{:>10.0}{:>10.1}{:>10.1}{:>8}{:>8}{:>12}{}\n",
                or_dash(of.cpu_us_per_ack, 2),
                or_dash(ratio, 2),
                of.rate_reached,
                of.p50_ms,
                of.p99_ms,
                of.late,
                of.lost,
                or_dash(of.rss_per_socket, 0),
                if of.kept_up { "" } else { "  did not keep the rate" }
            );
        }
        table
    }
}

impl Medians {
    fn of(process: &str, runs: &[&Outcome]) -> Self {
        let of = |read: &dyn Fn(&Outcome) -> Option<f64>| median(runs.iter().filter_map(|run| read(run)).collect());
        let must = |read: fn(&Outcome) -> f64| of(&|run| Some(read(run))).unwrap_or(f64::NAN);
        Medians {
            cpu_us_per_ack: of(&|run| run.cpu_us_per_ack(process)),
            rate_reached: must(|run| run.rate_reached),
            p50_ms: must(|run| run.latency_ms.p50),
            p99_ms: must(|run| run.latency_ms.p99),
            lost: must(|run| run.lost() as f64) as u64,
            late: must(|run| run.late as f64) as u64,
            rss_per_socket: of(&|run| run.processes.get(process)?.rss_per_socket),
            client_cpu_us_per_ack: of(&|run| run.client.cpu_us_per_ack),
            kept_up: runs.iter().all(|run| run.kept_up()),
        }
    }
}

fn ratios(contenders: &BTreeMap<&'static str, Medians>) -> BTreeMap<String, f64> {
    let cost = |name: &str| contenders.get(name)?.cpu_us_per_ack;
    let pairs = contenders.keys().flat_map(|name| [(*name, "echo"), (*name, "naive")]).filter(|(a, b)| a != b);
    pairs.filter_map(|(a, b)| Some((format!("{a}_to_{b}"), cost(a)? / cost(b)?))).collect()
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len().checked_sub(1)? / 2;
    Some(f64::midpoint(numbers[middle], numbers[numbers.len() / 2]))
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
