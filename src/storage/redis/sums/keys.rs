//! The names of the keys of sums. Each carries its shard's hash tag.
//!
//! | key | what | type |
//! |---|---|---|
//! | `{h}:s` | numbers of flights: `last`: the shard gives nothing to it any more; `taken`: it took all that was pending, or found nothing (none = `last`); `held`: it is in the shard; `removed`: it was. `since`, `began`: when the oldest sum that is pending, or in the flight, was counted (milliseconds). `urgent`: a deletion is pending. `scan:sp`, `scan:sc`: where the next part of the pending sums begins | hash |
//! | `{h}:sp` | pending sums: `1:100` = the views of a content, `1:100:2026-11-20` = those of a day; `1:100!` = they restart| hash |
//! | `{h}:sd` | the days among the pending views, so that a deletion finds them | set |
//! | `{h}:sc` | pending sums of derived counters: `=3:viewers:1!100` = a key of a counter, in its generation | hash |
//! | `{h}:sf`, `{h}:sg` | the sums of the flight, in the same forms | hash |
//! | `{h0}:flights` | name of the gateway that has the turn to write flights | string that expires |
//! | `{h0}:writing` | name of the gateway that is writing a flight | string that expires |

use crate::tag;
use model::shard::Shard;

/// The shard of the leases.
pub const COMMON: Shard = Shard(0);

pub fn state(shard: Shard) -> String {
    format!("{}:s", tag(shard))
}

pub fn pending(shard: Shard) -> String {
    format!("{}:sp", tag(shard))
}

/// The key of the pending views.
pub fn pending_days(shard: Shard) -> String {
    format!("{}:sd", tag(shard))
}

/// They are apart from the views, whose number is bounded.
pub fn pending_counters(shard: Shard) -> String {
    format!("{}:sc", tag(shard))
}

/// The keys of a flight: that of its views, and that of its counters.
pub fn of_flight(shard: Shard) -> [String; 2] {
    ["sf", "sg"].map(|key| format!("{}:{key}", tag(shard)))
}

pub fn lease() -> String {
    format!("{}:flights", tag(COMMON))
}

pub fn writing() -> String {
    format!("{}:writing", tag(COMMON))
}
