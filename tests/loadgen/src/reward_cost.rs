//! The cost of rewards: the same load on a gateway without rules, and on gateways with the usual rules for clients that
//! send their flags and clients that do not, side by side.
//!
//! One after the other, two equal runs differ by a fifth, because of other load on the machine. Side by side, that load
//! falls on all alike: two gateways with the same settings differ by a hundredth.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use futures_util::future::try_join_all;
use serde::Serialize;
use tokio::time::sleep;

use super::admin;
use super::baseline::median;
use super::load::Load;
use super::measure::Run;
use super::outcome::Outcome;
use super::served::{ServerOptions, Sort};
use super::target::Credentials;

const GATEWAY: &str = "gateway";
const RULES: &str = "rewards.rules";
const LOOKUPS: &str = "heartline_reward_lookups_total";
const CLAIMS: &str = "heartline_reward_claims_total";
/// The most CPU per ack, relative to the run without rules.
const WITH_FLAGS_MAX: f64 = 1.05;
const WITHOUT_FLAGS_MAX: f64 = 1.25;
/// By the end of the warm-up, viewers who play from the start are rewarded and have the flag: the usual rules need 5 s.
const WARM_UP_MIN: Duration = Duration::from_secs(10);
/// A pause, so that closing sockets of one round do not burden the next.
const REST: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Contender {
    NoRules,
    WithFlags,
    WithoutFlags,
}

const CONTENDERS: [Contender; 3] = [Contender::NoRules, Contender::WithFlags, Contender::WithoutFlags];

#[derive(Serialize)]
pub struct RewardCost {
    /// All rates were kept and both bars were met.
    pub passed: bool,
    rounds: u32,
    /// Medians over the rounds.
    contenders: BTreeMap<Contender, Cost>,
    /// Medians over the rounds of the ratios within each round.
    with_flags_ratio: Option<f64>,
    without_flags_ratio: Option<f64>,
    runs: Vec<(Contender, Outcome)>,
}

#[derive(Clone, Copy, Serialize)]
struct Cost {
    cpu_us_per_ack: Option<f64>,
    rate_reached: Option<f64>,
    p99_ms: Option<f64>,
    /// Look-ups of users' claims, per thousand acks. `claims`: likewise.
    lookups: Option<f64>,
    claims: Option<f64>,
    kept_up: bool,
}

/// One run, and the counters of its gateway.
struct Turn {
    contender: Contender,
    outcome: Outcome,
    lookups: f64,
    claims: f64,
}

/// The reason why this load cannot measure the cost, if any.
pub fn complaint(load: &Load, servers: &ServerOptions) -> Option<&'static str> {
    let usual = servers.settings.iter().all(|(name, _)| name != RULES);
    let too_short = usual && load.warm_up < WARM_UP_MIN;
    too_short.then_some("--compare-rewards needs a --warm-up of 10s: before, most users have no flag yet")
}

pub async fn run(
    load: &Load,
    rounds: u32,
    servers: &ServerOptions,
    credentials: &Credentials,
) -> Result<RewardCost, String> {
    let mut turns = Vec::new();
    for round in 0..rounds {
        eprintln!("--- round {} of {rounds}: {} gateways side by side", round + 1, CONTENDERS.len());
        // The order rotates.
        let order = (0..CONTENDERS.len()).map(|turn| CONTENDERS[(turn + round as usize) % CONTENDERS.len()]);
        turns.extend(try_join_all(order.map(|contender| contender.take_turn(load, servers, credentials))).await?);
        sleep(REST).await;
    }
    Ok(RewardCost::new(rounds, turns))
}

impl Contender {
    async fn take_turn(self, load: &Load, servers: &ServerOptions, credentials: &Credentials) -> Result<Turn, String> {
        let mut servers = servers.clone();
        if self == Contender::NoRules {
            servers.settings.push((RULES.to_owned(), "[]".to_owned()));
        }
        let load = Load { no_flags: self == Contender::WithoutFlags, ..load.clone() };
        let served = Sort::Gateway.start(&servers, &load, credentials).await?;
        let targets = [served.target.clone()];
        let settle = Duration::ZERO;
        let run = Run {
            load: &load,
            targets: &targets,
            credentials,
            watched: &served.watched,
            settle,
            begins: None,
            end: None,
        };
        let outcome = run.measure().await?;
        let gateway = served.admin.as_ref().ok_or("the gateway has no admin listener")?;
        let metrics = admin::get(gateway, "/metrics").await?;
        let (lookups, claims) = (sum(&metrics, LOOKUPS), sum(&metrics, CLAIMS));
        Ok(Turn { contender: self, outcome, lookups, claims })
    }
}

/// The sum of a counter over its labels.
fn sum(metrics: &str, family: &str) -> f64 {
    let of_line = |line: &str| {
        let labelled = line.strip_prefix(family)?.strip_prefix('{')?;
        labelled.rsplit_once("} ")?.1.trim().parse::<f64>().ok()
    };
    metrics.lines().filter_map(of_line).sum()
}

impl RewardCost {
    fn new(rounds: u32, turns: Vec<Turn>) -> Self {
        let costs = |contender: Contender| {
            let of = turns.iter().filter(move |turn| turn.contender == contender);
            of.map(|turn| turn.outcome.cpu_us_per_ack(GATEWAY)).collect::<Vec<_>>()
        };
        let ratio = |contender: Contender| {
            let pairs = costs(contender).into_iter().zip(costs(Contender::NoRules));
            median(pairs.filter_map(|(cost, bare)| Some(cost? / bare?)).collect())
        };
        let (with, without) = (ratio(Contender::WithFlags), ratio(Contender::WithoutFlags));
        let within = |ratio: Option<f64>, max: f64| ratio.is_some_and(|ratio| ratio <= max);
        let contenders: BTreeMap<_, _> = CONTENDERS.map(|contender| (contender, Cost::of(contender, &turns))).into();
        RewardCost {
            passed: contenders.values().all(|cost| cost.kept_up)
                && within(with, WITH_FLAGS_MAX)
                && within(without, WITHOUT_FLAGS_MAX),
            rounds,
            contenders,
            with_flags_ratio: with,
            without_flags_ratio: without,
            runs: turns.into_iter().map(|turn| (turn.contender, turn.outcome)).collect(),
        }
    }

    pub fn missing(&self) -> u64 {
        self.runs.iter().map(|(_, run)| run.missing()).sum()
    }
}

impl Cost {
    fn of(contender: Contender, turns: &[Turn]) -> Self {
        let of = |read: &dyn Fn(&Turn) -> Option<f64>| {
            median(turns.iter().filter(|turn| turn.contender == contender).filter_map(read).collect())
        };
        let thousand = |count: f64, turn: &Turn| Some(1e3 * count / turn.outcome.acked as f64);
        Cost {
            cpu_us_per_ack: of(&|turn| turn.outcome.cpu_us_per_ack(GATEWAY)),
            rate_reached: of(&|turn| Some(turn.outcome.rate_reached)),
            p99_ms: of(&|turn| Some(turn.outcome.latency_ms.p99)),
            lookups: of(&|turn| thousand(turn.lookups, turn)),
            claims: of(&|turn| thousand(turn.claims, turn)),
            kept_up: turns.iter().filter(|turn| turn.contender == contender).all(|turn| turn.outcome.kept_up()),
        }
    }
}

/// The costs as text.
impl fmt::Display for RewardCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_dash = |number: Option<f64>, digits: usize| match number {
            Some(number) => format!("{number:.digits$}"),
            None => "-".to_owned(),
        };
        writeln!(
            f,
            "{:<16}{:>12}{:>10}{:>10}{:>16}{:>15}",
            "median of runs", "us CPU/ack", "acked/s", "p99 ms", "look-ups/1000", "claims/1000"
        )?;
        for (contender, cost) in &self.contenders {
            let (name, behind) = (format!("{contender:?}"), if cost.kept_up { "" } else { "  did not keep the rate" });
            let (cpu, rate, p99) =
                (or_dash(cost.cpu_us_per_ack, 2), or_dash(cost.rate_reached, 0), or_dash(cost.p99_ms, 1));
            let (lookups, claims) = (or_dash(cost.lookups, 2), or_dash(cost.claims, 2));
            writeln!(f, "{name:<16}{cpu:>12}{rate:>10}{p99:>10}{lookups:>16}{claims:>15}{behind}")?;
        }
        for (name, ratio, max) in [
            ("with flags", self.with_flags_ratio, WITH_FLAGS_MAX),
            ("without flags", self.without_flags_ratio, WITHOUT_FLAGS_MAX),
        ] {
            writeln!(f, "{name:<16}{:>12}  of what it costs without rules; at most {max}", or_dash(ratio, 3))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_summed_over_its_labels() {
        let text = "a_total{x=\"1\"} 7\na_total{x=\"2\"} 5\na_totals{x=\"2\"} 1\nb_total{x=\"1\"} 3\n";
        assert_eq!((sum(text, "a_total"), sum(text, "c_total")), (12.0, 0.0));
    }
}
