//! The gateway beside a bare echo server and a naive gateway, each under the same load, in turns.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::load::Load;
use super::outcome::Outcome;
use super::served::{ServerOptions, Sort};
use super::target::Credentials;

const DELAYED: &str = "gateway_ack_delay";
const NAIVE: &str = "naive";
/// The share of the rate that the naive gateway reached under a higher one, so that it should keep this rate.
const NAIVE_SHARE: f64 = 0.6;
const LOWER_RATES_MAX: u32 = 3;
/// A pause, so that closing sockets of one run do not burden the next.
const REST: Duration = Duration::from_secs(1);

/// The servers that are compared: name and load.
pub struct Contender {
    pub name: &'static str,
    pub sort: Sort,
    pub load: Load,
}

#[derive(Serialize)]
pub struct Baseline {
    comparisons: Vec<Comparison>,
}

/// The comparison at one rate.
#[derive(Serialize)]
struct Comparison {
    rate: f64,
    rounds: u32,
    contenders: BTreeMap<&'static str, Medians>,
    /// Ratios of CPU per ack.
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

/// With an ack delay in `load`, the gateway takes part twice: with the delay, and without it like the others.
pub fn contenders(load: &Load) -> Vec<Contender> {
    let plain = Load { ack_delay: Duration::ZERO, in_flight: 1, ..load.clone() };
    let one = |sort: Sort| Contender { name: sort.name(), sort, load: plain.clone() };
    let mut all = vec![one(Sort::Echo), one(Sort::Naive), one(Sort::Gateway)];
    if !load.ack_delay.is_zero() {
        // The beats of a socket until its oldest ack at the latest, and a few for the network.
        let made = load.ack_delay.as_secs_f64() * load.rate / load.sockets as f64;
        let in_flight = load.in_flight.max(made.ceil() as u32 + 4);
        all.push(Contender { name: DELAYED, sort: Sort::Gateway, load: Load { in_flight, ..load.clone() } });
    }
    all
}

/// The settings of the runs.
pub struct Ring<'a> {
    pub rounds: u32,
    pub servers: &'a ServerOptions,
    pub credentials: &'a Credentials,
    pub settle: Duration,
}

impl Ring<'_> {
    /// Compares at each of the rates. If the naive gateway keeps up with none of them, compares once more at a rate
    /// that it can keep, where its cost per ack is meaningful.
    pub async fn run(&self, load: &Load, rates: &[f64]) -> Result<Baseline, String> {
        let mut comparisons = Vec::<Comparison>::new();
        for &rate in rates {
            let mut all = contenders(&Load { rate, ..load.clone() });
            let too_fast = |comparison: &Comparison| comparison.rate <= rate && !comparison.naive_kept_up();
            all.retain(|contender| contender.sort != Sort::Naive || !comparisons.iter().any(too_fast));
            comparisons.push(self.compare(rate, all).await?);
        }
        for _ in 0..LOWER_RATES_MAX {
            if comparisons.iter().any(Comparison::naive_kept_up) {
                break;
            }
            let slowest = comparisons.iter().filter_map(Comparison::naive_could_keep).reduce(f64::min);
            let Some(rate) = slowest.filter(|rate| *rate > 0.0) else { break };
            let mut both = contenders(&Load { rate, ack_delay: Duration::ZERO, ..load.clone() });
            both.retain(|contender| contender.sort != Sort::Echo);
            comparisons.push(self.compare(rate, both).await?);
        }
        Ok(Baseline { comparisons })
    }

    async fn compare(&self, rate: f64, contenders: Vec<Contender>) -> Result<Comparison, String> {
        let Ring { rounds, servers, credentials, settle } = *self;
        let mut runs: Vec<(&'static str, Outcome)> = Vec::new();
        for round in 0..rounds {
            for turn in 0..contenders.len() {
                // The order rotates.
                let contender = &contenders[(turn + round as usize) % contenders.len()];
                let naive_fell_behind = |(name, run): &(&str, Outcome)| *name == NAIVE && !run.kept_up();
                if contender.name == NAIVE && runs.iter().any(naive_fell_behind) {
                    eprintln!("--- {NAIVE} has not kept {rate:.0} beats a second, and is not asked again");
                    continue;
                }
                eprintln!("--- {} at {rate:.0} beats a second, round {} of {rounds}", contender.name, round + 1);
                let served = contender.sort.start(servers, &contender.load, credentials).await?;
                let outcome = super::measure::Run {
                    load: &contender.load,
                    targets: std::slice::from_ref(&served.target),
                    credentials,
                    watched: &served.watched,
                    settle,
                    begins: None,
                    end: None,
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
        let comparison = Comparison { rate, rounds, contenders, ratios, runs };
        eprint!("{}", comparison.table());
        Ok(comparison)
    }
}

impl Baseline {
    pub fn missing(&self) -> u64 {
        self.comparisons.iter().flat_map(|comparison| &comparison.runs).map(|(_, run)| run.missing()).sum()
    }

    /// The results as tables.
    pub fn tables(&self) -> String {
        self.comparisons.iter().map(Comparison::table).collect()
    }
}

impl Comparison {
    fn naive_kept_up(&self) -> bool {
        self.contenders.get(NAIVE).is_some_and(|naive| naive.kept_up)
    }

    /// A rate well below the one it reached under a higher one, in whole hundreds.
    fn naive_could_keep(&self) -> Option<f64> {
        Some((self.contenders.get(NAIVE)?.rate_reached * NAIVE_SHARE / 100.0).floor() * 100.0)
    }

    fn table(&self) -> String {
        let mut table = format!("{:.0} beats a second\n", self.rate);
        table += &format!(
            "{:<18}{:>12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>8}{:>8}{:>12}\n",
            "median of runs",
            "us CPU/ack",
            "to echo",
            "to naive",
            "acked/s",
            "p50 ms",
            "p99 ms",
            "late",
            "lost",
            "RSS/socket"
        );
        let or_dash = |number: Option<f64>, digits: usize| match number {
            Some(number) => format!("{number:.digits$}"),
            None => "-".to_owned(),
        };
        for (name, of) in &self.contenders {
            let to = |other| self.ratios.get(&format!("{name}_to_{other}")).copied();
            table += &format!(
                "{name:<18}{:>12}{:>10}{:>10}{:>10.0}{:>10.1}{:>10.1}{:>8}{:>8}{:>12}{}\n",
                or_dash(of.cpu_us_per_ack, 2),
                or_dash(to("echo"), 2),
                or_dash(to(NAIVE), 2),
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

pub fn median(mut numbers: Vec<f64>) -> Option<f64> {
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
