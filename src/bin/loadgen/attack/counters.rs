//! What the gateway itself counts, from its admin listener.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::super::tally::Kinds;
use super::super::target::Target;

const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Whom it closed, by code, and whom it turned away, by reason.
const FAMILIES: [&str; 2] = ["heartline_closes_total{code=\"", "heartline_refused_total{reason=\""];

/// Counters since the start of the gateway: `close 4008`, `refused Upgrades`.
#[derive(Debug, Default)]
pub struct Counters(Kinds);

impl Counters {
    pub async fn read(admin: &Target) -> Result<Self, String> {
        let answer = timeout(ANSWER_MAX, metrics(admin)).await.map_err(|_| "it takes too long".to_owned());
        let answer = answer.and_then(|answer| answer.map_err(|error| error.to_string()));
        let answer = answer.map_err(|why| format!("the gateway does not say what it counted: {why}"))?;
        Ok(Counters::parse(&answer))
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

    /// What came since `before`.
    pub fn since(&self, before: &Counters) -> Kinds {
        let grown = self.0.iter().map(|(kind, count)| (kind.clone(), count - before.of(kind)));
        grown.filter(|(_, count)| *count > 0).collect()
    }
}

async fn metrics(admin: &Target) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(admin.address).await?;
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", admin.host);
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_and_told_apart() {
        let text = "# TYPE heartline_closes counter\nheartline_closes_total{code=\"4008\"} 7\n\
                    heartline_refused_total{reason=\"Upgrades\"} 3\nheartline_connections 12\n";
        let before = Counters::parse("heartline_closes_total{code=\"4008\"} 2\n");
        let after = Counters::parse(text);
        let since: Vec<_> = after.since(&before).into_iter().collect();
        assert_eq!(since, [("close 4008".to_owned(), 5), ("refused Upgrades".to_owned(), 3)]);
        assert!(after.since(&after).is_empty());
    }
}
