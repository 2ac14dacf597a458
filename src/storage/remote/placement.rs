//! Which service has which lane.
//!
//! Lanes are spread evenly, and move as little as possible while services come and go: each lane prefers the services in
//! an order of its own (rendezvous hashing), and takes the first one that is not full. Gateways that see the same services
//! place the lanes alike, so a user is at one service, whose caches know the user. A service whose store is away, or a
//! part of it, is left out where another one can commit more.
//!
//! The bound on each service is from: V. Mirrokni, M. Thorup, M. Zadimoghaddam, "Consistent Hashing with Bounded Loads",
//! 2016.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// For each lane the index of its service in `names`; `None`: there is no service. `away`: how much of a lane the
/// service of an index cannot commit.
pub fn place(lanes: usize, names: &[&str], away: impl Fn(usize, usize) -> usize) -> Vec<Option<usize>> {
    let mut taken = vec![0; names.len()];
    let choose = |lane: usize| {
        let of_lane: Vec<usize> = (0..names.len()).map(|service| away(lane, service)).collect();
        let least = of_lane.iter().min().copied().unwrap_or_default();
        let mut preferred: Vec<usize> = (0..names.len()).filter(|service| of_lane[*service] == least).collect();
        let most = lanes.div_ceil(preferred.len().max(1));
        preferred.sort_by_key(|service| std::cmp::Reverse((weight(lane, names[*service]), names[*service])));
        let chosen = preferred.into_iter().find(|service| taken[*service] < most);
        chosen.into_iter().for_each(|service| taken[service] += 1);
        chosen
    };
    (0..lanes).map(choose).collect()
}

/// The same in every process.
fn weight(lane: usize, name: &str) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(name.as_bytes());
    hasher.write_u64(lane as u64);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANES: usize = 16;

    fn of<'n>(names: &[&'n str]) -> Vec<Option<&'n str>> {
        place(LANES, names, |_, _| 0).into_iter().map(|service| service.map(|service| names[service])).collect()
    }

    #[test]
    fn without_services_no_lane_is_placed() {
        assert_eq!(place(3, &[], |_, _| 0), [None, None, None]);
    }

    #[test]
    fn lanes_are_spread_evenly() {
        for count in 1..=LANES + 1 {
            let names: Vec<String> = (0..count).map(|number| format!("10.0.0.{number}:7703")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let placed = place(LANES, &names, |_, _| 0);
            for service in 0..count {
                let lanes = placed.iter().filter(|placed| **placed == Some(service)).count();
                assert!(lanes <= LANES.div_ceil(count), "{count} services, one has {lanes} lanes");
            }
            assert!(placed.iter().all(Option::is_some));
        }
    }

    #[test]
    fn a_lane_is_where_most_of_it_can_be_committed() {
        let names = ["a:1", "b:1", "c:1"];
        let without_a = place(LANES, &names, |_, service| usize::from(service == 0));
        assert!(without_a.iter().all(|placed| placed.is_some_and(|service| service > 0)), "{without_a:?}");
        let one_lane = place(LANES, &names, |lane, service| usize::from(lane == 3 && service != 2));
        assert_eq!(one_lane[3], Some(2));
        assert!(one_lane.contains(&Some(0)) && one_lane.contains(&Some(1)));
        let of_none = place(LANES, &names, |_, _| 5);
        assert_eq!(of_none, place(LANES, &names, |_, _| 0), "when all are away, nothing moves");
    }

    #[test]
    fn the_order_of_the_names_does_not_matter() {
        assert_eq!(of(&["a:1", "b:1", "c:1"]), of(&["c:1", "a:1", "b:1"]));
    }

    #[test]
    fn few_lanes_move_when_a_service_comes_or_goes() {
        let (two, three) = (of(&["a:1", "b:1"]), of(&["a:1", "b:1", "c:1"]));
        let moved = two.iter().zip(&three).filter(|(before, after)| before != after).count();
        assert!(moved <= LANES / 2, "{moved} of {LANES} lanes moved");
    }
}
