//! One attack in one run on one gateway: the crowd before it, under it, and after it.

use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::oneshot;
use tokio::task::LocalSet;
use tokio::time::{MissedTickBehavior, interval, sleep, sleep_until, timeout};

use super::super::end::{self, End};
use super::super::load::Load;
use super::super::measure::Run;
use super::super::meter;
use super::super::offspring::Offspring;
use super::super::served::{Served, ServerOptions, Sort};
use super::super::target::{Credentials, Tokens, wall_ms};
use super::attacker::Toll;
use super::counters::Counters;
use super::newcomers::Newcomers;
use super::options::SiegeOptions;
use super::plan::{Attack, Attacks, Plan};
use super::scene::Assault;
use super::spell::{Spell, Spells};
use super::verdict::{Seen, Standing, Use, Verdict};

/// The interval of looks at the memory.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The extra time for an attacker to report, after its attack.
const TOLL_SPARE: Duration = Duration::from_secs(60);
/// The pause after an attack before the next period is measured.
const SETTLE: Duration = Duration::from_secs(1);
const TOKEN_LIFE: Duration = Duration::from_secs(3600);
/// A pause, so that closing sockets of one gateway do not burden the next.
const REST: Duration = Duration::from_secs(1);
const TRIES_MAX: usize = 5;

/// All attacks of a run.
#[derive(Serialize)]
pub struct Siege {
    pub passed: bool,
    pub attacks: Vec<Verdict>,
}

/// Attacks a fresh gateway with each of the attacks.
pub async fn lay(
    attacks: &Attacks,
    options: &SiegeOptions,
    load: &Load,
    servers: &ServerOptions,
    credentials: &Credentials,
) -> Result<Siege, String> {
    let mut verdicts = Vec::new();
    for attack in &attacks.0 {
        eprintln!("--- {}", attack.name());
        let plan = attack.plan().scaled(options.attack_share, options.attack_time);
        let one = One { attack: *attack, plan, options, credentials };
        let mut tries = Vec::new();
        // A moment of other load on the disk or the processors makes the crowd slow, too, so two of three tries decide.
        while tries.len() < TRIES_MAX && undecided(&tries) {
            let verdict = LocalSet::new().run_until(one.run(load, servers)).await?;
            eprint!("{verdict}");
            tries.push(verdict);
            sleep(REST).await;
        }
        let ratios = tries.iter().map(|verdict| verdict.p99_ratio).collect();
        // An attack that is still undecided has failed, whatever its last try was.
        let decisive = if undecided(&tries) {
            tries.iter().rposition(|verdict| !verdict.passed())
        } else {
            tries.len().checked_sub(1)
        };
        let mut decisive = tries.swap_remove(decisive.ok_or("an attack is tried at least once")?);
        decisive.p99_ratios = ratios;
        verdicts.push(decisive);
    }
    Ok(Siege { passed: verdicts.iter().all(Verdict::passed), attacks: verdicts })
}

fn undecided(tries: &[Verdict]) -> bool {
    leave_open(tries.iter().map(Verdict::standing))
}

/// Whether the tries so far leave the verdict open. If not, the last of them is the verdict.
fn leave_open(tries: impl Iterator<Item = Standing>) -> bool {
    let counted: Vec<_> = tries.filter(|standing| *standing != Standing::Unclear).collect();
    matches!(counted[..], [] | [Standing::Slow] | [Standing::Slow, Standing::Good])
}

struct One<'a> {
    attack: Attack,
    plan: Plan,
    options: &'a SiegeOptions,
    credentials: &'a Credentials,
}

impl One<'_> {
    async fn run(&self, load: &Load, servers: &ServerOptions) -> Result<Verdict, String> {
        let served = Sort::Gateway.start(servers, load, self.credentials).await?;
        let load = Load { duration: end::NEVER, by_second: true, ..load.clone() };
        let (begins, begun) = oneshot::channel();
        let (hand, end) = End::by_hand();
        let run = Run {
            load: &load,
            targets: std::slice::from_ref(&served.target),
            credentials: self.credentials,
            watched: &served.watched,
            settle: Duration::ZERO,
            begins: Some(begins),
            end: Some(end),
        };
        let newcomers = Newcomers::default();
        let tokens = Tokens::new(self.credentials, TOKEN_LIFE);
        let strangers = load.first_mid + load.sockets;
        let coming = newcomers.come(served.target.clone(), tokens, wall_ms() / 1000, strangers + (1 << 32));
        let attack = async {
            let start = begun.await.map_err(|_| "the load never began".to_owned())?;
            let seen = self.attack(&served, &load, start, strangers).await?;
            sleep(self.options.quiet).await;
            drop(hand);
            Ok((start, seen, Instant::now()))
        };
        let (outcome, (start, seen, end)) = tokio::select! {
            done = async { tokio::try_join!(run.measure(), attack) } => done?,
            () = coming => unreachable!("there is always another one"),
        };
        let attack_at = start + load.warm_up + self.options.quiet;
        let spell = |from: Instant, to: Instant| Spell::new(&outcome.by_second, start, &newcomers, from, to);
        let spells = Spells {
            before: spell(start + load.warm_up, attack_at),
            under: spell(seen.begins, seen.ended),
            after: spell(seen.ended + SETTLE, end),
        };
        Ok(Verdict::new(self.attack, &self.plan, self.options, spells, seen, outcome))
    }

    /// Waits for the end of the quiet time, attacks, and measures meanwhile.
    async fn attack(&self, served: &Served, load: &Load, start: Instant, strangers: u64) -> Result<Seen, String> {
        let admin = served.admin.as_ref().ok_or("the gateway does not say where its admin listener is")?;
        let gateway = served.watched[0].pid;
        let begins = start + load.warm_up + self.options.quiet;
        let mut attacker = Offspring::of_myself("attacker")?;
        attacker.tell(&Assault {
            attack: self.attack,
            connections: self.plan.connections,
            per_second: self.plan.per_second,
            patience: self.plan.patience(),
            open_max: self.plan.open_max,
            at: wall_ms() + begins.saturating_duration_since(Instant::now()).as_millis() as u64,
            target: served.target.clone(),
            admin: admin.clone(),
            credentials: self.credentials.clone(),
            addresses: self.options.attack_addresses,
            run: wall_ms() / 1000,
            first_mid: strangers,
        })?;
        sleep_until((start + load.warm_up).into()).await;
        let cpu_quiet = meter::cpu_seconds(gateway);
        // Read before the attack, since an answer on a busy machine takes longer than the first closes.
        let before = Counters::read(admin).await?;
        sleep_until(begins.into()).await;
        let (cpu, cpu_attacker) = (meter::cpu_seconds(gateway), meter::cpu_seconds(attacker.pid()));
        let mut used = Use::new(gateway);
        let toll = timeout(self.plan.lasts_at_most() + TOLL_SPARE, watch(&mut attacker, gateway, &mut used)).await;
        let toll = toll.map_err(|_| "the attacker does not come to an end")??;
        let ended = Instant::now();
        let cores =
            |before: Option<f64>, after: Option<f64>, time: Duration| Some((after? - before?) / time.as_secs_f64());
        let under = ended - begins;
        used.cpu_cores_before = cores(cpu_quiet, cpu, self.options.quiet);
        used.cpu_cores_under = cores(cpu, meter::cpu_seconds(gateway), under);
        let attacker_cpu_cores = cores(cpu_attacker, meter::cpu_seconds(attacker.pid()), under);
        // The gateway counts a close shortly after the attacker sees it.
        sleep(SETTLE).await;
        let counted = Counters::read(admin).await?.since(&before);
        Ok(Seen { begins, ended, toll, gateway: used, counted, attacker_cpu_cores })
    }
}

/// Watches the memory until the attacker reports.
async fn watch(attacker: &mut Offspring, gateway: u32, used: &mut Use) -> Result<Toll, String> {
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            line = attacker.lines.recv() => {
                let line = line.ok_or("the attacker has ended")?;
                return serde_json::from_str(&line).map_err(|_| format!("the attacker said: {line}"));
            }
            _ = looks.tick() => used.look(gateway),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_result_is_decided_by_two_of_three_tries() {
        use Standing::{Bad, Good, Slow};
        for decided in [&[Good][..], &[Bad], &[Slow, Slow], &[Slow, Bad], &[Slow, Good, Good], &[Slow, Good, Slow]] {
            assert!(!leave_open(decided.iter().copied()), "{decided:?}");
        }
        for open in [&[][..], &[Slow], &[Slow, Good]] {
            assert!(leave_open(open.iter().copied()), "{open:?}");
        }
    }

    #[test]
    fn an_unclear_try_is_not_counted() {
        use Standing::{Bad, Good, Slow, Unclear};
        for open in [
            &[Unclear][..],
            &[Slow, Unclear],
            &[Unclear, Slow, Good],
            &[Unclear; TRIES_MAX],
            &[Slow, Unclear, Unclear, Unclear, Good],
        ] {
            assert!(leave_open(open.iter().copied()), "{open:?}");
        }
        for decided in [&[Unclear, Good][..], &[Unclear, Bad], &[Slow, Unclear, Slow]] {
            assert!(!leave_open(decided.iter().copied()), "{decided:?}");
        }
    }
}
