//! The names of the keys of views, beside those of their [sums](crate::sums::keys). Scripts make them,
//! from the hash tag of the content's shard.
//!
//! | key | what | type |
//! |---|---|---|
//! | `{h}:v` | remembered totals, by content (`1:100`). They may be lost: then they are read again | hash |
//! | `{h}:vm:<day>` | marks of sessions that were counted on the day; see [`mark`] | sorted set that expires |
//! | `{h0}:viewkinds` | how each kind was counted when a gateway last started | string |

use crate::tag;
use model::ids::{Content, SessionId, UserId};
use model::shard::{Shard, Shards};
use model::sums::SumKey;

/// The shard of the kinds.
pub const COMMON: Shard = Shard(0);

/// A session of a user in a content, or one request without a session.
pub type Mark = [u8; 27];

pub fn shard_of(content: Content) -> Shard {
    Shards::DEFAULT.of_content(content)
}

pub fn totals(shard: Shard) -> String {
    format!("{}:v", tag(shard))
}

pub fn kinds() -> String {
    format!("{}:viewkinds", tag(COMMON))
}

/// The content as a field of totals and of sums.
pub fn content(content: Content) -> String {
    SumKey::Views(content).to_string()
}

/// User, kind, oid, 0 and the session; or 1 and the request. Numbers are big-endian, so the marks of a user are
/// neighbours.
pub fn mark(user: UserId, Content { kind, oid }: Content, session: Option<SessionId>, request: u64) -> Mark {
    let mut mark = [0; 27];
    mark[..8].copy_from_slice(&user.0.to_be_bytes());
    mark[8..10].copy_from_slice(&kind.to_be_bytes());
    mark[10..18].copy_from_slice(&oid.to_be_bytes());
    mark[18] = u8::from(session.is_none());
    mark[19..].copy_from_slice(&session.map_or(request, |session| session.0).to_be_bytes());
    mark
}
