//! Claims in Redis: a set for each rule per user, and for each rule per content a filter, a hash of single claims, or
//! both.

use ::redis::{Pipeline, Value};

use super::bytes::DecodeError;
use super::filter::BitPositions;
use super::keys::{self, Keys};
use crate::value;
use model::ids::Content;
use model::outbox_entry::OutboxEntry;
use model::rewards::claim::{Claim, ClaimKey};
use model::rewards::rule::RewardRule;
use storage::hot_store::CLAIM_DAYS;
use storage::hot_store::optimistic::Claimable;
use storage::outbox::codec;

const DAY_MS: u64 = 86_400_000;
/// A day of the rewards may last longer than a day of the clock.
pub const CLAIMS_MS: u64 = (CLAIM_DAYS as u64 + 1) * DAY_MS;
/// The bits in front of a filter: the number of claims in it.
const COUNT_BITS: u32 = 32;

/// The words of a command.
pub type Words = Vec<Vec<u8>>;

/// Asks whether the claim is kept. `filter`: its bit positions in the filter of its rule, if the rule has one.
pub fn ask(pipeline: &mut Pipeline, names: &Keys, key: &ClaimKey, filter: Option<&BitPositions>) {
    let Some(content) = key.content else {
        pipeline.sismember(names.claimants(key.day, &key.rule), keys::claimant(key.user));
        return;
    };
    pipeline.hexists(names.contents_claimed(key.day, key.user), field(key, content));
    if let Some(positions) = filter {
        let command = pipeline.cmd("BITFIELD_RO").arg(names.filter(key.day, &key.rule));
        command.arg("GET").arg(format!("u{COUNT_BITS}")).arg(0);
        for bit in positions.of(key.user, content) {
            command.arg("GET").arg("u1").arg(u64::from(COUNT_BITS) + u64::from(bit));
        }
    }
}

pub fn read(
    key: &ClaimKey,
    filter: Option<&BitPositions>,
    next: &mut impl FnMut() -> Result<Value, DecodeError>,
) -> Result<Claimable, DecodeError> {
    let (single, key) = (value::number(next()?)? == 1, key.clone());
    let Some(positions) = filter.filter(|_| key.content.is_some()) else {
        return Ok(Claimable { key, claimed: single, exact: true, filter_room: 0 });
    };
    let bits = value::array(next()?)?.into_iter().map(value::number).collect::<Result<Vec<_>, _>>()?;
    let (taken, bits) = bits.split_first().ok_or(DecodeError("a filter"))?;
    let in_filter = bits.iter().all(|bit| *bit == 1);
    // A full filter takes no more claims, so that wrong denials stay within its probability.
    let filter_room = u64::from(positions.filter().items).saturating_sub(*taken);
    let exact = single || (filter_room == 0 && !in_filter);
    Ok(Claimable { key, claimed: single || in_filter, exact, filter_room })
}

/// The commands that keep a claim. `first`: it may be the first claim of the rule in the shard on the day. The list of
/// rules and the filters stay until they expire, but a set may disappear when a user is erased.
pub fn keep(names: &Keys, key: &ClaimKey, exact: bool, first: bool, filter: Option<&BitPositions>) -> Vec<Words> {
    let mut commands = Vec::new();
    if first {
        let rules = names.rules(key.day);
        commands.push(words(&[b"HSET", rules.as_bytes(), key.rule.as_bytes(), b""]));
        commands.push(expiry(&rules));
    }
    match (key.content, filter) {
        (None, _) => {
            let set = names.claimants(key.day, &key.rule);
            commands.push(words(&[b"SADD", set.as_bytes(), keys::claimant(key.user).as_bytes()]));
            commands.push(expiry(&set));
        }
        (Some(content), Some(positions)) if !exact => {
            let filter = names.filter(key.day, &key.rule);
            commands.push(into_filter(&filter, positions, key, content));
            commands.extend(first.then(|| expiry(&filter)));
        }
        // A hash of this user alone.
        (Some(content), _) => {
            let hash = names.contents_claimed(key.day, key.user);
            commands.push(words(&[b"HSET", hash.as_bytes(), &field(key, content), b""]));
            commands.push(expiry(&hash));
        }
    }
    commands
}

/// The command that adds the claim to the outbox.
pub fn publish(names: &Keys, claim: &Claim) -> Words {
    let (score, entry) = (claim.claimed_at.to_string(), codec::encode(&OutboxEntry::Claim(claim.clone())));
    words(&[b"ZADD", names.outbox().as_bytes(), score.as_bytes(), &entry])
}

fn into_filter(filter: &str, positions: &BitPositions, key: &ClaimKey, content: Content) -> Words {
    let counted = format!("u{COUNT_BITS}");
    let mut command = words(&[b"BITFIELD", filter.as_bytes(), b"INCRBY", counted.as_bytes(), b"0", b"1"]);
    for bit in positions.of(key.user, content) {
        let at = (u64::from(COUNT_BITS) + u64::from(bit)).to_string();
        command.extend(words(&[b"SET", b"u1", at.as_bytes(), b"1"]));
    }
    command
}

/// The field of a single claim: the rule's mark, and the content.
fn field(key: &ClaimKey, content: Content) -> Vec<u8> {
    let mut field = RewardRule::mark(&key.rule).to_be_bytes().to_vec();
    field.extend_from_slice(&keys::content(content));
    field
}

fn expiry(key: &str) -> Words {
    words(&[b"PEXPIRE", key.as_bytes(), CLAIMS_MS.to_string().as_bytes(), b"NX"])
}

pub fn words(words: &[&[u8]]) -> Words {
    words.iter().map(|word| word.to_vec()).collect()
}
