//! Which service has which lane.
//!
//! Lanes are spread evenly, and move as little as possible while services come and go: each lane prefers the services in
//! an order of its own (rendezvous hashing), and takes the first one that is not full. Gateways that see the same services
//! place the lanes alike, so a user is at one service, whose caches know the user.
//!
//! The bound on each service is from: V. Mirrokni, M. Thorup, M. Zadimoghaddam, "Consistent Hashing with Bounded Loads",
//! 2016.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

/// For each lane the place of its service in `names`; `None`: there is no service.
pub fn place(lanes: usize, names: &[&str]) -> Vec<Option<usize>> {
    let most = lanes.div_ceil(names.len().max(1));
    let mut taken = vec![0; names.len()];
    let choose = |lane: usize| {
        let mut preferred: Vec<usize> = (0..names.len()).collect();
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
        place(LANES, names).into_iter().map(|service| service.map(|service| names[service])).collect()
    }

    #[test]
    fn without_services_no_lane_is_placed() {
        assert_eq!(place(3, &[]), [None, None, None]);
    }

    #[test]
    fn lanes_are_spread_evenly() {
        for count in 1..=LANES + 1 {
            let names: Vec<String> = (0..count).map(|number| format!("10.0.0.{number}:7703")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let placed = place(LANES, &names);
            for service in 0..count {
                let lanes = placed.iter().filter(|placed| **placed == Some(service)).count();
                assert!(lanes <= LANES.div_ceil(count), "{count} services, one has {lanes} lanes");
            }
            assert!(placed.iter().all(Option::is_some));
        }
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
