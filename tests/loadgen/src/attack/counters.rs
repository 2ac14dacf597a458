//! The counters of the gateway, from its admin listener.

use super::super::admin;
use super::super::tally::Kinds;
use super::super::target::Target;

/// Connections that the gateway closed, by code, and refused, by reason.
const FAMILIES: [&str; 2] = ["heartline_closes_total{code=\"", "heartline_refused_total{reason=\""];

/// Counters since the start of the gateway: `close 4008`, `refused upgrades`.
#[derive(Debug, Default)]
pub struct Counters(Kinds);

impl Counters {
    pub async fn read(target: &Target) -> Result<Self, String> {
        Ok(Counters::parse(&admin::get(target, "/metrics").await?))
    }

    fn parse(text: &str) -> Self {
        let counter = |line: &str| {
            let (family, rest) = FAMILIES.iter().find_map(|family| Some((*family, line.strip_prefix(family)?)))?;
            let (label, count) = rest.split_once("\"} ")?;
            let word = if family.contains("closes") { "close" } else { "refused" };
            Some((format!("{word} {label}"), count.trim().parse().ok()?))
        };
        Counters(text.lines().filter_map(counter).collect())
    }

    pub fn of(&self, kind: &str) -> u64 {
        self.0.get(kind).copied().unwrap_or(0)
    }

    /// The increase since `before`.
    pub fn since(&self, before: &Counters) -> Kinds {
        let grown = self.0.iter().map(|(kind, count)| (kind.clone(), count - before.of(kind)));
        grown.filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_parsed_with_their_label_and_subtracted() {
        let text = "# TYPE heartline_closes counter\nheartline_closes_total{code=\"4008\"} 7\n\
                    heartline_refused_total{reason=\"upgrades\"} 3\nheartline_connections 12\n";
        let before = Counters::parse("heartline_closes_total{code=\"4008\"} 2\n");
        let after = Counters::parse(text);
        let since: Vec<_> = after.since(&before).into_iter().collect();
        assert_eq!(since, [("close 4008".to_owned(), 5), ("refused upgrades".to_owned(), 3)]);
        assert!(after.since(&after).is_empty());
    }
}
