//! Finds the highest rate without losses and with quick acks.

use std::time::Duration;

use serde::Serialize;

use super::load::Load;
use super::outcome::Outcome;

/// The bar of a step, milliseconds.
const P99_MAX: f64 = 100.0;
/// After a failed step, the gap to the last good step is halved this many times.
const HALVINGS: u32 = 2;
/// The most steps up, however good the server is.
const STEPS_MAX: u32 = 40;
/// A pause, so that closing sockets of one step do not burden the next.
const REST: Duration = Duration::from_secs(1);

#[derive(Serialize)]
pub struct Ramp {
    /// Beats a second; `null`: not even the first step was kept.
    pub highest: Option<f64>,
    pub steps: Vec<Step>,
    /// The run at the highest rate.
    pub run: Option<Outcome>,
}

#[derive(Serialize)]
pub struct Step {
    pub rate: f64,
    pub reached: f64,
    #[serde(rename = "p99_ms")]
    pub p99: f64,
    pub lost: u64,
    pub kept: bool,
}

/// Raises the rate of `load` by `factor` a step. `run` measures at a rate.
pub async fn climb<F>(load: &Load, factor: f64, mut run: impl FnMut(Load) -> F) -> Result<Ramp, String>
where
    F: Future<Output = Result<Outcome, String>>,
{
    let mut ramp = Ramp { highest: None, steps: Vec::new(), run: None };
    let mut failed: Option<f64> = None;
    let mut halvings = 0;
    let mut rate = load.rate;
    for _ in 0..STEPS_MAX {
        eprintln!("--- {rate:.0} beats a second");
        let outcome = run(Load { rate, ..load.clone() }).await?;
        let step = Step::of(&outcome);
        eprintln!(
            "--- {rate:.0} {}: {:.0} acked a second, p99 {:.1} ms, {} lost",
            if step.kept { "kept" } else { "not kept" },
            step.reached,
            step.p99,
            step.lost
        );
        if step.kept {
            ramp.highest = Some(rate);
            ramp.run = Some(outcome);
        } else {
            failed = Some(rate);
        }
        ramp.steps.push(step);
        rate = match (ramp.highest, failed) {
            (Some(kept), None) => kept * factor,
            (Some(kept), Some(failed)) if halvings < HALVINGS => {
                halvings += 1;
                f64::midpoint(kept, failed)
            }
            _ => break,
        };
        tokio::time::sleep(REST).await;
    }
    Ok(ramp)
}

impl Step {
    fn of(outcome: &Outcome) -> Self {
        let p99 = outcome.latency_ms.p99;
        let kept = outcome.kept_up() && p99 <= P99_MAX;
        Step { rate: outcome.rate_asked, reached: outcome.rate_reached, p99, lost: outcome.lost(), kept }
    }
}
