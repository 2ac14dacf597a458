//! Sends requests to one node, and reads the answers.

use ::redis::{Script, ServerError, ServerErrorKind, Value};

use super::metrics::{Failed, Metrics};
use super::node::{Link, Node};
use super::request::{Reply, Request, SWAPS_TOGETHER_MAX, pipeline};
use super::swap::{self, Swapped};
use super::{StoreError, TRIES, dial};

/// Sends all in one pipeline. `joined`: the server takes several shards in one step. `None` for a request that was not
/// done, since the shard is on another node.
pub(super) async fn send(
    node: &Node,
    metrics: &Metrics,
    script: &Script,
    requests: &[&Request],
    joined: bool,
) -> Result<Vec<Option<Reply>>, StoreError> {
    let link = node.link().inspect_err(|_| metrics.failed(Failed::Away))?;
    let _turn = node.commits.acquire().await;
    let mut connection = link.commits.clone();
    let lost = |error| {
        metrics.failed(Failed::Unknown);
        link.failed(&node.address, &error)
    };
    let mut scripts = link.scripts.lock().await;
    if !scripts.contains(script.get_hash()) {
        dial::load(&mut connection, script).await.map_err(lost)?;
        scripts.insert(script.get_hash().to_owned());
    }
    drop(scripts);
    let mut part = Part { node, link: &link, metrics, requests, joined, replies: vec![None; requests.len()] };
    let mut open: Vec<usize> = (0..requests.len()).collect();
    open.sort_by_key(|index| !requests[*index].is_swap());
    if !link.can_swap() {
        open.retain(|index| part.cannot_be_swapped(*index));
    }
    for _ in 0..TRIES {
        let of_open: Vec<&Request> = open.iter().map(|index| requests[*index]).collect();
        let (pipeline, count) = pipeline(script, &of_open, joined);
        let values = dial::send(&mut connection, &pipeline, count).await.map_err(lost)?;
        open = part.read(&open, values)?;
        if open.is_empty() {
            part.count_swaps();
            return Ok(part.replies);
        }
        // A server that was started anew, or whose scripts were flushed.
        metrics.failed(Failed::NoScript);
        dial::load(&mut connection, script).await.map_err(lost)?;
    }
    Err(StoreError::Away(format!("{} keeps losing its scripts", node.address)))
}

/// The requests sent to one node, and the replies.
struct Part<'p> {
    node: &'p Node,
    link: &'p Link,
    metrics: &'p Metrics,
    requests: &'p [&'p Request],
    joined: bool,
    replies: Vec<Option<Reply>>,
}

enum Meaning {
    Reply(Reply),
    /// Not done: the script has to be loaded.
    NoScript,
    /// Not done: another node has the shard, or a key of it.
    Elsewhere,
}

impl Part<'_> {
    /// False: it was to be swapped, and is refused.
    fn cannot_be_swapped(&mut self, index: usize) -> bool {
        let swap = self.requests[index].is_swap();
        if swap {
            self.replies[index] = Some(Reply::Swapped(Swapped::Refused));
        }
        !swap
    }

    /// `open`: what was sent, in this order. Returns what has to be sent once more.
    fn read(&mut self, open: &[usize], values: Vec<Value>) -> Result<Vec<usize>, StoreError> {
        let mut values = values.into_iter();
        let (swaps, calls) = open.split_at(open.partition_point(|index| self.requests[*index].is_swap()));
        for together in swaps.chunks(SWAPS_TOGETHER_MAX) {
            let answers: Vec<Value> = match self.joined && together.len() > 1 {
                true => self.of_transaction(&mut values, together.len())?,
                false => values.by_ref().take(together.len()).collect(),
            };
            for (index, value) in together.iter().zip(answers) {
                self.take(*index, value)?;
            }
        }
        let followed: Vec<usize> =
            swaps.iter().copied().filter(|index| self.requests[*index].channel().is_some()).collect();
        if !followed.is_empty() {
            let counts = match values.next() {
                Some(Value::ServerError(error)) => return Err(self.refused(&error)),
                counts => swap::followers(counts.unwrap_or(Value::Nil))?,
            };
            for (index, counted) in followed.into_iter().zip(counts) {
                if let Some(Reply::Swapped(Swapped::Done { followers })) = &mut self.replies[index] {
                    *followers = counted;
                }
            }
        }
        let mut unknown = Vec::new();
        for (index, value) in calls.iter().zip(values) {
            if !self.take(*index, value)? {
                unknown.push(*index);
            }
        }
        Ok(unknown)
    }

    /// The answers to `count` commands between `MULTI` and `EXEC`.
    fn of_transaction(&self, values: &mut impl Iterator<Item = Value>, count: usize) -> Result<Vec<Value>, StoreError> {
        // A command that was not even queued tells why there was no transaction.
        for queued in values.take(1 + count) {
            if let Value::ServerError(error) = &queued {
                return Err(self.refused(error));
            }
        }
        match values.next() {
            Some(Value::Array(answers)) if answers.len() == count => Ok(answers),
            Some(Value::ServerError(error)) => Err(self.refused(&error)),
            _ => Err(StoreError::Away(format!("{} answers EXEC in an unknown format", self.node.address))),
        }
    }

    /// False: it has to be sent once more.
    fn take(&mut self, index: usize, value: Value) -> Result<bool, StoreError> {
        match self.meaning(index, value)? {
            Meaning::Reply(reply) => self.replies[index] = Some(reply),
            Meaning::NoScript => return Ok(false),
            Meaning::Elsewhere => {}
        }
        Ok(true)
    }

    fn meaning(&self, index: usize, value: Value) -> Result<Meaning, StoreError> {
        let is_swap = self.requests[index].is_swap();
        match &value {
            Value::ServerError(error) if error.kind() == Some(ServerErrorKind::NoScript) => Ok(Meaning::NoScript),
            Value::ServerError(error) if dial::is_elsewhere(error) => Ok(Meaning::Elsewhere),
            answer if is_swap && swap::is_refused(answer) => Ok(Meaning::Reply(Reply::Swapped(Swapped::Refused))),
            Value::ServerError(error) => Err(self.refused(error)),
            _ if is_swap => Ok(Meaning::Reply(Reply::Swapped(Swapped::Done { followers: 0 }))),
            _ => Ok(Meaning::Reply(Reply::Called(value))),
        }
    }

    fn count_swaps(&self) {
        let (mut done, mut refused) = (0, 0);
        for reply in self.replies.iter().flatten() {
            match reply {
                Reply::Swapped(Swapped::Done { .. }) => done += 1,
                Reply::Swapped(Swapped::Refused) => refused += 1,
                Reply::Called(_) => {}
            }
        }
        self.metrics.swapped(done, refused);
    }

    fn refused(&self, error: &ServerError) -> StoreError {
        self.metrics.failed(Failed::Refused);
        self.link.refused(&self.node.address, error)
    }
}
