//! The result of an attack and its effect on the honest crowd, and whether it passes.

use std::fmt;
use std::time::Instant;

use serde::Serialize;

use super::super::meter;
use super::super::outcome::Outcome;
use super::super::tally::Kinds;
use super::attacker::Toll;
use super::ending::Ending;
use super::newcomers::Arrivals;
use super::options::SiegeOptions;
use super::plan::{Attack, Plan};
use super::spell::Spells;

/// The factor by which the 99th percentile of the crowd may grow.
const P99_RATIO_MAX: f64 = 2.0;
/// The share of honest newcomers that must be welcomed at their first try.
const NEWCOMERS_MIN: f64 = 0.9;
const MIB: f64 = (1u64 << 20) as f64;

/// The times of the attack, and its measurements.
pub struct Seen {
    pub begins: Instant,
    pub ended: Instant,
    pub toll: Toll,
    pub gateway: Use,
    /// Connections that the gateway closed or refused in that time, by its own metrics; newcomers included.
    pub counted: Kinds,
    pub attacker_cpu_cores: Option<f64>,
}

/// Bytes of memory, and cores.
#[derive(Debug, Default, Serialize)]
pub struct Use {
    pub rss_before: Option<u64>,
    pub rss_peak: Option<u64>,
    pub rss_after: Option<u64>,
    /// Kernel memory of all TCP sockets of the machine: both ends of each, the attacker's and the crowd's.
    pub tcp_before: Option<u64>,
    pub tcp_peak: Option<u64>,
    pub cpu_cores_before: Option<f64>,
    pub cpu_cores_under: Option<f64>,
}

#[derive(Debug, Serialize)]
pub struct Attacker {
    pub connections: u64,
    #[serde(flatten)]
    pub toll: Toll,
    pub expected: Vec<String>,
    pub cpu_cores: Option<f64>,
}

#[derive(Debug, Serialize)]
pub struct Verdict {
    pub attack: Attack,
    /// The missed bars.
    pub missed: Vec<String>,
    #[serde(skip)]
    standing: Standing,
    #[serde(flatten)]
    pub spells: Spells,
    pub p99_ratio: f64,
    /// The ratio of each try, this one last.
    pub p99_ratios: Vec<f64>,
    /// Honest beats without an ack, honest sockets that were closed, acks without a record.
    pub lost: u64,
    pub gateway: Use,
    pub growth_max: u64,
    pub counted: Kinds,
    pub attacker: Attacker,
    /// The whole run of the honest crowd.
    pub run: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Good,
    /// Only the 99th percentile misses its bar.
    Slow,
    /// Only the 99th percentile misses its bar, but it was no better after the attack.
    Unclear,
    Bad,
}

impl Use {
    pub fn new(pid: u32) -> Self {
        let (rss, tcp) = (meter::rss(pid), meter::tcp_bytes());
        Use { rss_before: rss, rss_peak: rss, tcp_before: tcp, tcp_peak: tcp, ..Use::default() }
    }

    pub fn look(&mut self, pid: u32) {
        self.rss_peak = self.rss_peak.max(meter::rss(pid));
        self.tcp_peak = self.tcp_peak.max(meter::tcp_bytes());
    }
}

impl Verdict {
    pub fn new(attack: Attack, plan: &Plan, options: &SiegeOptions, spells: Spells, seen: Seen, run: Outcome) -> Self {
        let Seen { toll, mut gateway, counted, attacker_cpu_cores, .. } = seen;
        gateway.rss_after = run.processes.get("gateway").and_then(|process| process.rss);
        let mut verdict = Verdict {
            attack,
            missed: Vec::new(),
            standing: Standing::Good,
            p99_ratios: Vec::new(),
            p99_ratio: spells.under.latency_ms.p99 / spells.before.latency_ms.p99,
            lost: run.lost(),
            spells,
            gateway,
            growth_max: plan.growth_max,
            counted,
            attacker: Attacker {
                connections: plan.connections,
                toll,
                expected: plan.endings.iter().map(Ending::to_string).collect(),
                cpu_cores: attacker_cpu_cores,
            },
            run,
        };
        let slow = verdict.honest_slow(options.p99_floor.as_secs_f64() * 1000.0);
        let others = [
            verdict.wrong_endings(plan),
            verdict.too_few_counted(plan),
            verdict.honest_lost(),
            verdict.newcomers_kept_out(),
            verdict.grown(),
        ];
        let as_slow_after = verdict.spells.after.latency_ms.p99 >= verdict.spells.under.latency_ms.p99 / P99_RATIO_MAX;
        verdict.standing = match (&slow, others.iter().any(Option::is_some)) {
            (_, true) => Standing::Bad,
            (Some(_), false) if as_slow_after => Standing::Unclear,
            (Some(_), false) => Standing::Slow,
            (None, false) => Standing::Good,
        };
        verdict.missed = others.into_iter().chain([slow]).flatten().collect();
        verdict
    }

    pub fn standing(&self) -> Standing {
        self.standing
    }

    pub fn passed(&self) -> bool {
        self.standing == Standing::Good
    }

    fn wrong_endings(&self, plan: &Plan) -> Option<String> {
        let open = Ending::Open.to_string();
        let wrong = |(kind, count): &(&String, &u64)| match kind {
            kind if **kind == open => **count > plan.open_max,
            kind => !self.attacker.expected.contains(kind),
        };
        let wrong: Vec<_> = self.attacker.toll.endings.iter().filter(wrong).collect();
        let told = wrong.iter().map(|(kind, count)| format!("{count} ended with \"{kind}\"")).collect::<Vec<_>>();
        (!told.is_empty()).then(|| format!("of the attacker's connections {}", told.join(", ")))
    }

    fn too_few_counted(&self, plan: &Plan) -> Option<String> {
        let kind = Ending::Closed(plan.counted?).to_string();
        let counted = self.counted.get(&kind).copied().unwrap_or(0);
        (counted < plan.connections).then(|| format!("the gateway counts {counted} of \"{kind}\""))
    }

    fn honest_lost(&self) -> Option<String> {
        (self.lost > 0).then(|| format!("{} honest beats or sockets are lost", self.lost))
    }

    fn honest_slow(&self, floor: f64) -> Option<String> {
        let p99 = self.spells.under.latency_ms.p99;
        let slow = p99 > floor && self.p99_ratio > P99_RATIO_MAX;
        slow.then(|| format!("p99 of the honest is {p99:.1} ms, {:.1} times that before", self.p99_ratio))
    }

    fn newcomers_kept_out(&self) -> Option<String> {
        let Arrivals { tried, welcomed, .. } = self.spells.under.newcomers;
        let few = (welcomed as f64) < NEWCOMERS_MIN * tried as f64;
        few.then(|| format!("of {tried} honest newcomers {welcomed} were let in"))
    }

    fn grown(&self) -> Option<String> {
        let grown = self.gateway.rss_peak?.saturating_sub(self.gateway.rss_before?);
        (grown > self.growth_max).then(|| format!("the gateway has grown by {:.0} MiB", grown as f64 / MIB))
    }
}

/// The verdict as text.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: Option<u64>| bytes.map_or(f64::NAN, |bytes| bytes as f64 / MIB);
        let Verdict { spells: Spells { before, under, after }, gateway, attacker, .. } = self;
        let word = if self.passed() { "ok  " } else { "FAIL" };
        writeln!(
            f,
            "{word} {:<16} p99 {:.1} / {:.1} / {:.1} ms ({:.1}x), lost {}, RSS {:.0} / {:.0} / {:.0} MiB, \
             kernel {:.0} / {:.0} MiB, cores: gateway {:.2} / {:.2}, attacker {:.2}",
            self.attack.name(),
            before.latency_ms.p99,
            under.latency_ms.p99,
            after.latency_ms.p99,
            self.p99_ratio,
            self.lost,
            mib(gateway.rss_before),
            mib(gateway.rss_peak),
            mib(gateway.rss_after),
            mib(gateway.tcp_before),
            mib(gateway.tcp_peak),
            gateway.cpu_cores_before.unwrap_or(f64::NAN),
            gateway.cpu_cores_under.unwrap_or(f64::NAN),
            attacker.cpu_cores.unwrap_or(f64::NAN),
        )?;
        writeln!(
            f,
            "     {} s, {} connections, {} at once, longest {:.1} s: {:?}; gateway: {:?}; newcomers {} of {}: {:?}",
            under.seconds,
            attacker.connections,
            attacker.toll.open_peak,
            attacker.toll.longest_ms as f64 / 1000.0,
            attacker.toll.endings,
            self.counted,
            under.newcomers.welcomed,
            under.newcomers.tried,
            under.newcomers.refused,
        )?;
        self.missed.iter().try_for_each(|missed| writeln!(f, "     {missed}"))
    }
}
