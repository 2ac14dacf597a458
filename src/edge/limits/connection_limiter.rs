//! Limits the numbers of connections without a welcome and of sockets, in all and of one address.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use governor::RateLimiter;
use governor::clock::{Clock, MonotonicClock};
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use parking_lot::Mutex;

use crate::address::Network;
use crate::limits::config::LimitsConfig;
use crate::limits::rates::{self, Rates};

/// When to try again while the number of connections is at its limit.
pub const FULL_RETRY: Duration = Duration::from_secs(5);

/// Shared by all threads. Locks are taken when a connection comes or goes, never per message.
pub struct ConnectionLimiter<C: Clock = MonotonicClock> {
    /// From the accepted connection to the welcome, or to the first answer over HTTP.
    handshakes: Arc<Tally>,
    /// HTTP connections that stay after their first answer.
    kept_alive: Arc<Tally>,
    /// From the upgrade on.
    sockets: Arc<Tally>,
    upgrades: Option<RateLimiter<NotKeyed, InMemoryState, C, NoOpMiddleware<C::Instant>>>,
    upgrades_of_address: Option<Rates<Network, C>>,
}

/// The limit that another socket would pass. A rate says when it is kept again.
#[derive(Debug, PartialEq, Eq)]
pub enum ConnectionRefused {
    /// `limits.upgrades_per_second`.
    UpgradeRate(Duration),
    /// `limits.upgrades_per_second_per_address`.
    UpgradeRateOfAddress(Duration),
    /// `limits.connections`.
    Connections,
    /// `limits.connections_per_address`.
    ConnectionsOfAddress,
}

impl ConnectionLimiter {
    pub fn new(limits: &LimitsConfig) -> Arc<Self> {
        Self::with_clock(limits, MonotonicClock)
    }
}

impl<C: Clock + Clone> ConnectionLimiter<C> {
    pub fn with_clock(limits: &LimitsConfig, clock: C) -> Arc<Self> {
        let rate = limits.upgrades_per_second;
        let rate_of_address = limits.upgrades_per_second_per_address;
        let of_address = least(limits.handshakes_per_address, limits.connections_per_address);
        Arc::new(ConnectionLimiter {
            handshakes: Tally::new(limits.handshakes, of_address),
            kept_alive: Tally::new(limits.handshakes, of_address),
            sockets: Tally::new(limits.connections, limits.connections_per_address),
            upgrades: (rate > 0).then(|| RateLimiter::direct_with_clock(rates::quota(rate, rate), clock.clone())),
            upgrades_of_address: (rate_of_address > 0)
                .then(|| Rates::with_clock(rate_of_address, rate_of_address, clock)),
        })
    }

    /// A connection has been accepted. `None`: there are too many already.
    pub fn begin_handshake(&self) -> Option<ConnectionPermit> {
        self.handshakes.enter()
    }

    /// An HTTP connection is to stay open after its answer. Idle connections have slots of their own, as many as
    /// handshakes, so that they take none from new connections. `None`: there are too many already.
    pub fn keep_alive(&self, network: Option<Network>) -> Option<ConnectionPermit> {
        let mut permit = self.kept_alive.enter()?;
        network.is_none_or(|network| permit.claim(network)).then_some(permit)
    }

    /// A connection is to become a socket. Upgrades refused for their address do not count for the limits of all.
    pub fn enter(&self, network: Network) -> Result<ConnectionPermit, ConnectionRefused> {
        if let Some(rates) = &self.upgrades_of_address {
            rates.count(&network).map_err(ConnectionRefused::UpgradeRateOfAddress)?;
        }
        if let Some(upgrades) = &self.upgrades {
            let wait = upgrades.check().map_err(|until| until.wait_time_from(upgrades.clock().now()));
            wait.map_err(ConnectionRefused::UpgradeRate)?;
        }
        let mut permit = self.sockets.enter().ok_or(ConnectionRefused::Connections)?;
        if permit.claim(network) { Ok(permit) } else { Err(ConnectionRefused::ConnectionsOfAddress) }
    }
}

/// The lower of two bounds, of which 0 is none.
fn least(one: usize, other: usize) -> usize {
    if one == 0 || other == 0 { one.max(other) } else { one.min(other) }
}

/// The number of permits, in all and of each address. 0 means no bound.
struct Tally {
    taken: AtomicUsize,
    max: usize,
    /// Bounded by `taken`: an address that gives back its last permit is forgotten. Not kept without a bound.
    of_address: Mutex<HashMap<Network, usize>>,
    of_address_max: usize,
}

/// One permit, given back when dropped.
pub struct ConnectionPermit {
    tally: Arc<Tally>,
    network: Option<Network>,
}

impl Tally {
    fn new(max: usize, of_address_max: usize) -> Arc<Self> {
        let bound = |max| if max == 0 { usize::MAX } else { max };
        Arc::new(Tally {
            taken: AtomicUsize::new(0),
            max: bound(max),
            of_address: Mutex::default(),
            of_address_max: bound(of_address_max),
        })
    }

    fn enter(self: &Arc<Self>) -> Option<ConnectionPermit> {
        let taken = self
            .taken
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |taken| (taken < self.max).then_some(taken + 1));
        taken.is_ok().then(|| ConnectionPermit { tally: self.clone(), network: None })
    }
}

impl ConnectionPermit {
    /// Counts the permit for an address, too. False: the address has too many already.
    pub fn claim(&mut self, network: Network) -> bool {
        if self.tally.of_address_max == usize::MAX {
            return true;
        }
        let mut of_address = self.tally.of_address.lock();
        let taken = of_address.entry(network).or_default();
        if *taken >= self.tally.of_address_max {
            return false;
        }
        *taken += 1;
        self.network = Some(network);
        true
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.tally.taken.fetch_sub(1, Ordering::Relaxed);
        let Some(network) = self.network else { return };
        let mut of_address = self.tally.of_address.lock();
        if let Some(taken) = of_address.get_mut(&network) {
            *taken -= 1;
            if *taken == 0 {
                of_address.remove(&network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    fn network(address: &str) -> Network {
        Network::of(address.parse().expect("an address"))
    }

    #[test]
    fn a_slot_is_free_again_once_given_back() {
        let tally = Tally::new(2, 0);
        let (one, _two) = (tally.enter(), tally.enter());
        assert!(one.is_some() && tally.enter().is_none());
        drop(one);
        assert!(tally.enter().is_some());
    }

    #[test]
    fn connections_are_counted_by_address_and_an_address_without_any_is_forgotten() {
        let tally = Tally::new(0, 1);
        let (here, there) = (network("192.0.2.1"), network("192.0.2.2"));
        let mut permits: Vec<_> = (0..3).map(|_| tally.enter().expect("room")).collect();
        assert!(permits[0].claim(here) && !permits[1].claim(here) && permits[2].claim(there));
        permits.truncate(1);
        assert_eq!(tally.of_address.lock().len(), 1);
        permits.clear();
        assert!(tally.of_address.lock().is_empty());
        assert_eq!(tally.taken.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn the_lower_of_two_bounds_holds_and_0_means_no_bound() {
        assert_eq!([least(0, 0), least(3, 0), least(0, 3), least(2, 3), least(3, 2)], [0, 3, 3, 2, 2]);
    }

    #[test]
    fn one_address_cannot_use_up_the_upgrades_of_all() {
        let tally = || Tally::new(0, 0);
        let clock = FakeRelativeClock::default();
        let limiter = ConnectionLimiter {
            handshakes: tally(),
            kept_alive: tally(),
            sockets: tally(),
            upgrades: Some(RateLimiter::direct_with_clock(rates::quota(3, 3), clock.clone())),
            upgrades_of_address: Some(Rates::with_clock(2, 2, clock.clone())),
        };
        let here = network("192.0.2.1");
        let refused = |network| limiter.enter(network).err();
        assert_eq!((refused(here), refused(here)), (None, None));
        let half = ConnectionRefused::UpgradeRateOfAddress(Duration::from_millis(500));
        assert!((0..100).all(|_| refused(here).as_ref() == Some(&half)));
        assert_eq!(refused(network("192.0.2.2")), None);
        assert!(
            matches!(refused(network("192.0.2.3")), Some(ConnectionRefused::UpgradeRate(wait)) if wait.as_millis() == 333)
        );
        clock.advance(Duration::from_secs(1));
        assert_eq!(refused(network("192.0.2.3")), None);
    }
}
