//! The outbox: claims in the order in which they were made.
//!
//! | key | value |
//! |---|---|
//! | number, big-endian | the claim, a protobuf message |
//!
//! Numbers follow each other without gaps, so that what is to be removed need not be read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fjall::Slice;
use prost::Message;

use super::EmbeddedStore;
use super::codec::{self, Malformed};
use super::tables::{ReadError, Tables};
use crate::model::ids::{Content, SessionId, UserId};
use crate::model::rewards::claim::{Claim, ClaimKey};
use crate::model::rewards::day::Day;
use crate::storage::hot_store::Answer;
use crate::storage::outbox::{Outbox, OutboxNumber};

#[derive(Clone, PartialEq, Message)]
struct StoredClaim {
    #[prost(string, tag = "1")]
    rule: String,
    /// Days since 1970-01-01.
    #[prost(uint32, tag = "2")]
    day: u32,
    #[prost(fixed64, tag = "3")]
    user: u64,
    /// Of a rule per content.
    #[prost(bool, tag = "4")]
    per_content: bool,
    #[prost(uint32, tag = "5")]
    kind: u32,
    #[prost(uint64, tag = "6")]
    oid: u64,
    #[prost(fixed64, tag = "7")]
    session: u64,
    #[prost(string, tag = "8")]
    device: String,
    #[prost(uint64, tag = "9")]
    watched: u64,
    #[prost(uint64, tag = "10")]
    claimed_at: u64,
    #[prost(string, tag = "11")]
    zone: String,
}

/// Where the outbox begins and where it ends. Only committers move its end, only removals its beginning.
#[derive(Debug)]
pub struct Ends {
    /// The oldest that is there, or the next one if there is none.
    first: AtomicU64,
    next: AtomicU64,
}

impl Ends {
    pub fn read(tables: &Tables) -> Result<Self, ReadError> {
        let number = |guard: Option<fjall::Guard>| {
            guard.map(|guard| Ok::<_, ReadError>(codec::parse_number(&guard.key()?)?)).transpose()
        };
        let first = number(tables.outbox.first_key_value())?;
        let last = number(tables.outbox.last_key_value())?;
        let next = last.map_or(1, |last| last + 1);
        Ok(Ends { first: AtomicU64::new(first.unwrap_or(next)), next: AtomicU64::new(next) })
    }

    pub fn next(&self) -> OutboxNumber {
        self.next.load(Ordering::Relaxed)
    }

    /// So many were added.
    pub fn added(&self, count: u64) {
        self.next.fetch_add(count, Ordering::Relaxed);
    }

    fn len(&self) -> u64 {
        self.next().saturating_sub(self.first.load(Ordering::Relaxed))
    }
}

impl Outbox for EmbeddedStore {
    fn read(&self, after: OutboxNumber, limit: usize) -> Answer<Vec<(OutboxNumber, Claim)>> {
        self.readers.ask(move |view| view.outbox(after, limit))
    }

    fn remove(&self, up_to: OutboxNumber) -> Answer<()> {
        let shared = self.shared.clone();
        self.readers.ask(move |_| {
            let first = shared.outbox.first.load(Ordering::Relaxed);
            let end = up_to.saturating_add(1).min(shared.outbox.next());
            let mut batch = shared.tables.batch();
            for number in first..end {
                batch.remove(&shared.tables.outbox, number.to_be_bytes());
            }
            batch.commit()?;
            shared.outbox.first.fetch_max(end, Ordering::Relaxed);
            Ok(())
        })
    }

    fn len(&self) -> u64 {
        self.shared.outbox.len()
    }
}

pub fn value(claim: &Claim) -> Slice {
    let stored = StoredClaim {
        rule: claim.key.rule.to_string(),
        day: claim.key.day.number().into(),
        user: claim.key.user.0,
        per_content: claim.key.content.is_some(),
        kind: claim.content.kind.into(),
        oid: claim.content.oid,
        session: claim.session.0,
        device: claim.device.to_string(),
        watched: claim.watched,
        claimed_at: claim.claimed_at,
        zone: claim.zone.to_string(),
    };
    Slice::from(stored.encode_to_vec())
}

pub fn parse_value(bytes: &[u8]) -> Result<Claim, Malformed> {
    let stored = StoredClaim::decode(bytes).map_err(|error| Malformed::of(error.to_string()))?;
    let number = |number: u32| u16::try_from(number).map_err(|_| Malformed::of(format!("{number} in a claim")));
    let content = Content { kind: number(stored.kind)?, oid: stored.oid };
    Ok(Claim {
        key: ClaimKey {
            rule: stored.rule.into(),
            day: Day::of_number(number(stored.day)?),
            user: UserId(stored.user),
            content: stored.per_content.then_some(content),
        },
        content,
        session: SessionId(stored.session),
        device: Arc::from(stored.device),
        watched: stored.watched,
        claimed_at: stored.claimed_at,
        zone: Arc::from(stored.zone),
    })
}
