//! The attacks: the number and pace of their connections, and the endings they must have.

use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::ending::Ending;

/// Sockets that one user may have by the gateway's defaults.
const CONNECTIONS_PER_USER: u64 = 32;
const MIB: u64 = 1 << 20;
/// The last connection may take this many times as long as on a quiet machine.
const PATIENCE: u32 = 5;

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Attack {
    /// Half of them send the head of a request a line at a time and never end it, the others upgrade and say nothing.
    SlowHandshakes,
    /// They ask for long lists and do not read them.
    SlowReaders,
    /// A thousand small frames at once.
    Frames,
    /// A thousand pings at once.
    Pings,
    /// A message of a thousand empty fragments.
    Fragments,
    /// Frames and messages longer than a frame may be.
    Oversized,
    /// They are welcomed, close, and come again.
    ReconnectStorm,
    /// All of them are of one user, and stay.
    OneUser,
    /// They return after a long time offline: 500 beats each, all at once.
    OfflineBatches,
}

/// The numbers are for the full size.
pub struct Plan {
    pub connections: u64,
    pub per_second: f64,
    /// The longest time from the opening to the end of the last connection, on a quiet machine.
    pub life_max: Duration,
    /// The endings that a connection may have, as the attacker sees it.
    pub endings: &'static [Ending],
    /// The most connections that may be open at the end.
    pub open_max: u64,
    /// The code of closes that the gateway must count, for clients that do not read and see no code.
    pub counted: Option<u16>,
    /// The most that the memory of the gateway may grow.
    pub growth_max: u64,
}

impl Attack {
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    pub fn plan(self) -> Plan {
        use Ending::{Acked, Closed, End, Reset, Status, Welcomed};
        // The attack opens more upgrades a second than the gateway accepts in all, or from one address: refused clients
        // may come again, and the attack goes on.
        const SHED: [Ending; 2] = [Status(503), Status(429)];
        let flood = Plan {
            connections: 1_000,
            per_second: 100.0,
            life_max: Duration::from_secs(3),
            endings: &[Closed(4008), SHED[0], SHED[1]],
            open_max: 0,
            counted: None,
            growth_max: 64 * MIB,
        };
        match self {
            // 10,000 at a time: each is closed after 5 s by the gateway's defaults.
            Attack::SlowHandshakes => Plan {
                connections: 20_000,
                per_second: 2_000.0,
                life_max: Duration::from_secs(8),
                // The gateway closes an endless head without an answer, and also connections beyond its limit of
                // pending ones.
                endings: &[End, Reset, Closed(4001), SHED[0], SHED[1]],
                growth_max: 256 * MIB,
                ..flood
            },
            Attack::SlowReaders => Plan {
                per_second: 500.0,
                life_max: Duration::from_secs(20),
                endings: &[Closed(4009), End, Reset],
                counted: Some(4009),
                growth_max: 256 * MIB,
                ..flood
            },
            Attack::Frames | Attack::Pings | Attack::Fragments => flood,
            Attack::Oversized => Plan { endings: &[Closed(1009), SHED[0], SHED[1]], ..flood },
            Attack::ReconnectStorm => Plan {
                connections: 30_000,
                per_second: 3_000.0,
                endings: &[Welcomed, SHED[0], SHED[1]],
                growth_max: 128 * MIB,
                ..flood
            },
            Attack::OneUser => Plan {
                connections: 10_000,
                per_second: 1_000.0,
                endings: &[Closed(4004), SHED[0], SHED[1]],
                open_max: CONNECTIONS_PER_USER,
                ..flood
            },
            // 500,000 beats wait at once: their frames, their slots, and then their rows.
            Attack::OfflineBatches => Plan {
                per_second: 500.0,
                life_max: Duration::from_secs(20),
                endings: &[Acked],
                growth_max: 512 * MIB,
                ..flood
            },
        }
    }
}

impl Plan {
    /// This share of the connections and the pace, over this share of the time.
    pub fn scaled(self, share: f64, time: f64) -> Self {
        let connections = (self.connections as f64 * share * time).ceil() as u64;
        Plan { connections, per_second: self.per_second * share, ..self }
    }

    /// The time from the opening of the last connection until it is given up.
    pub fn patience(&self) -> Duration {
        PATIENCE * self.life_max
    }

    /// The time from the first connection until the last one is given up.
    pub fn lasts_at_most(&self) -> Duration {
        Duration::from_secs_f64(self.connections as f64 / self.per_second) + self.patience()
    }
}

/// The selected attacks: names with commas between them, or all.
#[derive(Clone, Debug)]
pub struct Attacks(pub Vec<Attack>);

impl FromStr for Attacks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Attacks(Attack::value_variants().to_vec()));
        }
        let named = text.split(',').map(|name| {
            let names = || Attack::value_variants().iter().map(|attack| attack.name()).collect::<Vec<_>>().join(", ");
            Attack::from_str(name, false).map_err(|_| format!("{name} is no attack; there are: {}; or all", names()))
        });
        named.collect::<Result<_, _>>().map(Attacks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attacks_are_selected_by_name() {
        assert_eq!("all".parse::<Attacks>().expect("all").0.len(), Attack::value_variants().len());
        assert_eq!("pings,one-user".parse::<Attacks>().expect("two").0, [Attack::Pings, Attack::OneUser]);
        assert!("pings,other".parse::<Attacks>().is_err_and(|why| why.contains("slow-readers")));
    }

    #[test]
    fn a_scaled_attack_lasts_as_long_and_a_shortened_one_has_fewer_connections() {
        for attack in Attack::value_variants() {
            let (whole, part, short) = (attack.plan(), attack.plan().scaled(0.2, 1.0), attack.plan().scaled(0.2, 0.5));
            let name = attack.name();
            assert_eq!(
                (whole.lasts_at_most(), whole.connections),
                (part.lasts_at_most(), part.connections * 5),
                "{name}"
            );
            assert_eq!((short.connections * 2, short.per_second), (part.connections, part.per_second), "{name}");
        }
    }
}
