//! Rules that hold in every scenario.

use std::collections::BTreeMap;

use super::log::{Log, What};
use super::rule::{Fault, Rule, Verdict};

pub const FRAMES: Rule = Rule {
    name: "frames-are-valid",
    section: "protocol.md#client-frames",
    text: "every message is one JSON object with seq and one operation, and its fields are those of the protocol",
};
pub const SEQ: Rule = Rule {
    name: "seq-increases",
    section: "protocol.md#client-frames",
    text: "on each connection seq is greater than in the frame before",
};
pub const URL: Rule = Rule {
    name: "no-token-in-a-url",
    section: "clients.md#tokens",
    text: "the token is in a header, a subprotocol or hello, and the URL of the socket has no query",
};

/// The verdicts on these rules after one scenario. None was tried if the client never connected.
pub fn judge(log: &Log) -> Vec<(&'static Rule, Verdict)> {
    let all = [(&FRAMES, frames(log)), (&SEQ, seq(log)), (&URL, url(log))];
    let silent = log.attempts().is_empty();
    let verdict = |found: Result<(), Fault>| match found {
        Ok(()) if silent => Verdict::NotTried("the client never connected".into()),
        found => found.into(),
    };
    all.map(|(rule, found)| (rule, verdict(found))).into()
}

fn frames(log: &Log) -> Result<(), Fault> {
    log.all().iter().try_for_each(|seen| match &seen.what {
        What::Malformed(why) => Err(Fault::new("a frame of the protocol", why)),
        _ => Ok(()),
    })
}

fn seq(log: &Log) -> Result<(), Fault> {
    let mut last: BTreeMap<usize, u64> = BTreeMap::new();
    log.frames().try_for_each(|(seen, frame)| {
        let seq = frame["seq"].as_u64().unwrap_or_default();
        match last.insert(seen.connection, seq) {
            Some(before) if before >= seq => Err(Fault::new(format!("a seq above {before}"), frame.to_string())),
            _ => Ok(()),
        }
    })
}

fn url(log: &Log) -> Result<(), Fault> {
    log.all().iter().try_for_each(|seen| match &seen.what {
        What::Query(path) => Err(Fault::new("a URL without a query", path)),
        _ => Ok(()),
    })
}
