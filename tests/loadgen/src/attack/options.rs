//! The options of attacks, and the bar for their effect.

use std::time::Duration;

use clap::Args;

#[derive(Args, Clone, Debug)]
pub struct SiegeOptions {
    /// The share of each attack's connections and pace.
    #[arg(long, default_value = "1", value_parser = share)]
    pub attack_share: f64,
    /// The share of each attack's duration: fewer connections at the same pace.
    #[arg(long, default_value = "1", value_parser = share)]
    pub attack_time: f64,
    /// Addresses that an attacker has.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=200))]
    pub attack_addresses: u8,
    /// The time for which the crowd is measured before an attack, and again after it.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    pub quiet: Duration,
    /// A 99th percentile up to here is good enough however low it was before, since the disk alone may make that.
    #[arg(long, default_value = "25ms", value_parser = humantime::parse_duration)]
    pub p99_floor: Duration,
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| format!("{text} is not a number"))?;
    (share > 0.0 && share <= 1.0).then_some(share).ok_or_else(|| format!("{text} is not above 0 and at most 1"))
}
