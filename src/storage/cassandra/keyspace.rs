//! The keyspace: made if it is missing, and checked if it is there.

use std::collections::BTreeMap;

use storage::config::cassandra::Replication;

/// By the names of `system_schema.keyspaces`.
pub(super) type Options = BTreeMap<String, String>;

pub(super) fn creation(keyspace: &str, replication: &Replication) -> String {
    let copies = match replication {
        Replication::Each(copies) => format!("'replication_factor': {copies}"),
        Replication::ByDataCenter(copies) => {
            let copies = copies.iter().map(|(data_center, copies)| format!("'{data_center}': {copies}"));
            copies.collect::<Vec<_>>().join(", ")
        }
    };
    format!(
        "CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {{'class': 'NetworkTopologyStrategy', {copies}}}"
    )
}

/// The mistakes of an existing replication. `nodes`: the number of nodes in each data center.
pub(super) fn mistakes(
    keyspace: &str,
    wanted: &Replication,
    found: &Options,
    durable: bool,
    nodes: &BTreeMap<String, u64>,
) -> Vec<String> {
    let mut mistakes = Vec::new();
    let class = found.get("class").map(String::as_str).unwrap_or_default();
    let class = class.rsplit('.').next().unwrap_or_default();
    let copies: BTreeMap<&str, u64> = found
        .iter()
        .filter(|(name, _)| *name != "class")
        .filter_map(|(name, count)| Some((name.as_str(), count.parse().ok()?)))
        .collect();
    let is_wanted = match wanted {
        // A SimpleStrategy has one number for all data centers.
        Replication::Each(wanted) => !copies.is_empty() && copies.values().all(|copies| copies == wanted),
        Replication::ByDataCenter(wanted) => {
            class == "NetworkTopologyStrategy"
                && wanted.iter().map(|(name, copies)| (name.as_str(), *copies)).eq(copies.iter().map(|(k, v)| (*k, *v)))
        }
    };
    if !is_wanted {
        let found: Vec<_> = copies.iter().map(|(name, copies)| format!("{name} = {copies}")).collect();
        mistakes.push(format!(
            "keyspace {keyspace} has the replication {class} {{ {} }}, which is not cassandra.replication; correct the \
             setting, or ALTER KEYSPACE and repair",
            found.join(", ")
        ));
    }
    if !durable {
        mistakes.push(format!(
            "keyspace {keyspace} has durable_writes = false, so a crash loses writes; ALTER KEYSPACE {keyspace} WITH \
             durable_writes = true"
        ));
    }
    if is_wanted {
        mistakes.extend(too_few(wanted, nodes));
    }
    mistakes
}

fn too_few(wanted: &Replication, nodes: &BTreeMap<String, u64>) -> Vec<String> {
    let wanted: Vec<(&str, u64)> = match wanted {
        Replication::Each(copies) => nodes.keys().map(|name| (name.as_str(), *copies)).collect(),
        Replication::ByDataCenter(copies) => copies.iter().map(|(name, copies)| (name.as_str(), *copies)).collect(),
    };
    let there = |name: &str| nodes.get(name).copied().unwrap_or(0);
    wanted
        .into_iter()
        .filter(|(name, copies)| there(name) < *copies)
        .map(|(name, copies)| {
            format!(
                "data center {name} has {} node(s), too few for {copies} copies; lower cassandra.replication, or add \
                 nodes",
                there(name)
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(class: &str, copies: &[(&str, &str)]) -> Options {
        let class = [("class", format!("org.apache.cassandra.locator.{class}"))];
        let copies = copies.iter().map(|(name, copies)| (*name, (*copies).to_owned()));
        class.into_iter().chain(copies).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn by_data_center(copies: &[(&str, u64)]) -> Replication {
        Replication::ByDataCenter(copies.iter().map(|(name, copies)| ((*name).to_owned(), *copies)).collect())
    }

    fn check(wanted: &Replication, found: &Options) -> Vec<String> {
        let nodes = [("dc1".to_owned(), 3), ("dc2".to_owned(), 3)].into();
        mistakes("ks", wanted, found, true, &nodes)
    }

    #[test]
    fn a_single_replication_number_applies_to_each_data_center() {
        let wanted = Replication::Each(3);
        assert_eq!(check(&wanted, &found("NetworkTopologyStrategy", &[("dc1", "3"), ("dc2", "3")])), [""; 0]);
        assert_eq!(check(&wanted, &found("SimpleStrategy", &[("replication_factor", "3")])), [""; 0]);
        let other = check(&wanted, &found("NetworkTopologyStrategy", &[("dc1", "3"), ("dc2", "2")]));
        assert!(other.len() == 1 && other[0].contains("dc1 = 3, dc2 = 2"), "{other:?}");
        assert_eq!(check(&wanted, &found("LocalStrategy", &[])).len(), 1);
    }

    #[test]
    fn a_table_names_all_data_centers() {
        let wanted = by_data_center(&[("dc1", 3), ("dc2", 2)]);
        assert_eq!(check(&wanted, &found("NetworkTopologyStrategy", &[("dc1", "3"), ("dc2", "2")])), [""; 0]);
        for copies in [&[("dc1", "3")][..], &[("dc1", "3"), ("dc2", "3")], &[("dc1", "3"), ("dc2", "2"), ("dc3", "1")]]
        {
            assert_eq!(check(&wanted, &found("NetworkTopologyStrategy", copies)).len(), 1, "{copies:?}");
        }
    }

    #[test]
    fn a_data_center_needs_as_many_nodes_as_copies() {
        let wanted = by_data_center(&[("dc1", 4)]);
        let mistakes = check(&wanted, &found("NetworkTopologyStrategy", &[("dc1", "4")]));
        assert!(mistakes.len() == 1 && mistakes[0].contains("3 node(s), too few for 4 copies"), "{mistakes:?}");
    }

    #[test]
    fn a_keyspace_without_durable_writes_is_refused() {
        let found = found("SimpleStrategy", &[("replication_factor", "1")]);
        let mistakes = mistakes("ks", &Replication::Each(1), &found, false, &[("dc1".to_owned(), 1)].into());
        assert!(mistakes.len() == 1 && mistakes[0].contains("durable_writes"), "{mistakes:?}");
    }

    #[test]
    fn a_keyspace_is_created_with_the_configured_replication() {
        assert!(creation("ks", &Replication::Each(3)).ends_with("'replication_factor': 3}"));
        assert!(creation("ks", &by_data_center(&[("a", 1), ("b", 2)])).ends_with("'a': 1, 'b': 2}"));
    }
}
