//! The names of the keys of owners' queues. Scripts make them, too, from the hash tag of the unit.
//!
//! | key | what | type |
//! |---|---|---|
//! | `{h}:qo:<owner>` | the record of an owner (below) | hash |
//! | `{h}:qp:<owner>` | its definition, as JSON | string |
//! | `{h}:ql:<owner>` | its queue: the number, a space, and the event, of each entry | list |
//! | `{h}:qd:<owner>` | its dead letters: `<number>-0`, with the event in `e`, why in `r`, and when (milliseconds) in `t` | stream |
//! | `{h}:qc` | the control queue: owners that are active and have events, by when they are due (milliseconds) | sorted set |
//! | `{h}:qw` | its slow line: those of them whose last try failed or was slow | sorted set |
//! | `{h}:qa` | owners that have events, by a number that is at most that of the oldest | sorted set |
//! | `{h}:qf` | owners that are active and failing, by when that began (milliseconds) | sorted set |
//! | `{h}:qx` | owners that are not active: 1 paused ones, 2 those whose tries are used up, 3 disabled ones | sorted set |
//! | `{h}:qi` | all owners, in the order of their ids | sorted set |
//! | `{h}:qv` | what changed of subscriptions: ids by the number of the newest change, deleted ones as well | sorted set |
//! | `{h}:qr` | owners whose queues are being filled | set |
//! | `{h}:qs` | `last`: the newest number; `owners`, `events`, `bytes`, `dead`, `dropped`: totals of the unit | hash |
//! | `{h0}:qk` | how far each part of the bus was read; with `mark:` before its name, one of its messages: offset and hash; `looked`: when a cascade last looked at the bus (milliseconds) | hash |
//!
//! Fields of a record; `v`, `l` and `x` stay when the owner is deleted:
//!
//! | field | what |
//! |---|---|
//! | `v` | version |
//! | `l` | when the lease ends (milliseconds); 0 once it was ended |
//! | `i` | incarnation |
//! | `f` | fence of the newest lease, until it is void |
//! | `x` | fence of a lease that is void, because the owner was deleted or its queue emptied |
//! | `q` | present while it waits in the slow line |
//! | `w`, `g`, `h` | status: its state, failing (`since tries`), last failure (`at status reason`) |
//! | `k` | version of the newest change of the status by the API |
//! | `n`, `b` | events in the queue, and their bytes |
//! | `y`, `z` | dead letters, and their bytes |
//! | `c` | events that were delivered |
//! | `a:<part>` | the newest offset that the queue has |
//! | `r` | present while the queue is being filled |
//! | `m:<part>` | then: the newest offset that was left out |
//! | `e:<part>` | then: the part was read to its end |

use crate::tag;
use model::shard::Shard;
use model::subscribers::SubscriberId;
use storage::event_bus::part::Part;

/// The shard of the cursors.
pub const COMMON: Shard = Shard(0);

pub fn cursors() -> String {
    format!("{}:qk", tag(COMMON))
}

/// The field of the last look at the bus. Names of parts have a `/`.
pub const LOOKED: &str = "looked";

/// The field of the message by which a part is recognised.
pub fn mark(part: &Part) -> String {
    format!("mark:{part}")
}

pub fn ids(unit: Shard) -> String {
    format!("{}:qi", tag(unit))
}

pub fn changes(unit: Shard) -> String {
    format!("{}:qv", tag(unit))
}

/// The keys of a unit that its owners share.
pub fn of_unit(unit: Shard) -> impl Iterator<Item = Vec<u8>> {
    ["qc", "qw", "qa", "qi", "qv", "qr", "qs"].into_iter().map(move |key| format!("{}:{key}", tag(unit)).into_bytes())
}

/// The keys of one owner.
pub fn of_owner(unit: Shard, id: &SubscriberId) -> impl Iterator<Item = Vec<u8>> {
    ["qo", "qp", "ql", "qd"].into_iter().map(move |key| format!("{}:{key}:{id}", tag(unit)).into_bytes())
}
