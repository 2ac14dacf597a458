//! Changes of an owner: the arguments of `change.lua`, and its answer.

use std::sync::LazyLock;
use std::time::Duration;

use ::redis::Script;

use super::answer::{MALFORMED, Parts};
use super::calls::{Queues, Words, word};
use crate::script::script;
use model::subscribers::{Subscriber, SubscriberId};
use storage::event_bus::part::Offsets;
use storage::owner_queues::{Change, Changed, Version};
use storage::store_error::StoreError;

static CHANGE: LazyLock<Script> =
    LazyLock::new(|| script(concat!(include_str!("queue.lua"), include_str!("change.lua"))));

pub async fn change(
    queues: &Queues,
    id: &SubscriberId,
    version: Version,
    change: &Change,
) -> Result<Changed, StoreError> {
    let args = [word(version)].into_iter().chain(words(change));
    let mut answer = Parts::of(queues.of_owner(&CHANGE, id, args).await?)?;
    let what = answer.text()?;
    let number = answer.number()?;
    match what.as_str() {
        "done" => {
            let made = answer.number()? == 1;
            let leased_for = Duration::from_millis(answer.number()?);
            Ok(Changed::Done { version: number, made, leased_for })
        }
        "moved" => Ok(Changed::Moved(number)),
        "missing" => Ok(Changed::Missing { leased_for: Duration::from_millis(number) }),
        _ => Err(MALFORMED.into()),
    }
}

fn words(change: &Change) -> Words {
    match change {
        Change::Put { subscriber, ends } => with_offsets("put", json(subscriber), ends),
        Change::Redefine { subscriber } => vec![word("redefine"), json(subscriber)],
        Change::Delete => vec![word("delete")],
        Change::Pause => vec![word("pause")],
        Change::Resume => vec![word("resume")],
        Change::Replay { after } => with_offsets("replay", Vec::new(), after),
    }
}

fn with_offsets(kind: &str, definition: Vec<u8>, offsets: &Offsets) -> Words {
    let offsets = offsets.iter().flat_map(|(part, offset)| [word(part), word(offset)]);
    [word(kind), definition].into_iter().chain(offsets).collect()
}

fn json(subscriber: &Subscriber) -> Vec<u8> {
    serde_json::to_vec(subscriber).expect("all of its keys are texts")
}
