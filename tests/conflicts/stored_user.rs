//! What is stored of one user, as the commands that Redis has done make it.

use std::collections::{BTreeMap, HashMap, HashSet};

use heartline::model::forgetting::{ContentRow, Eviction};
use heartline::model::ids::{Content, UserId};
use heartline::model::outbox_entry::OutboxEntry;
use heartline::model::record::Record;
use heartline::model::rewards::claim::{Claim, ClaimKey};
use heartline::model::rewards::rule::RewardRule;
use heartline::storage::hot_store::optimistic::{Head, StoredRow, Token};
use heartline::storage::outbox::codec;
use heartline::storage_redis::hot_store::{head, row};

use crate::conflicts::append_log::Words;
use crate::conflicts::state::State;

/// The day, the rule's mark, the content.
type Claimed = (String, u32, Option<Content>);

#[derive(Clone, Debug, Default)]
pub struct StoredUser {
    pub head: Option<Head>,
    pub rows: BTreeMap<Content, StoredRow>,
    /// Scores.
    pub timeline: BTreeMap<Content, i64>,
    claims: HashSet<Claimed>,
    pub outbox: Vec<Claim>,
}

/// All that one transaction has written of one user.
#[derive(Debug)]
pub struct Write {
    pub user: UserId,
    pub commands: Vec<Words>,
}

/// The parts of a key after its hash tag.
fn parts(key: &[u8]) -> Vec<String> {
    let key = String::from_utf8(key.to_vec()).expect("keys are texts");
    let (_, rest) = key.split_once("}:").unwrap_or_else(|| panic!("no key of a shard: {key}"));
    rest.split(':').map(str::to_owned).collect()
}

/// Whose a command is; `None`: it is about no user.
fn user_of(command: &Words) -> Option<UserId> {
    let number = |text: &String| Some(UserId(text.parse().expect("a mid")));
    let parts = parts(command.get(1).filter(|_| command[0] != b"SELECT")?);
    let member = || String::from_utf8_lossy(&command[2]).parse::<i64>().expect("a claimant").cast_unsigned();
    match (&parts.iter().map(String::as_str).collect::<Vec<_>>()[..], &command[0][..]) {
        (["h" | "r" | "t", _] | ["w", ..], _) => number(parts.last()?),
        (["c", _, _], b"SADD" | b"SREM") => Some(UserId(member())),
        (["o"], b"ZADD") => Some(claim(&command[3]).key.user),
        (["c", ..] | ["deployment" | "calendar" | "takeover" | "o"] | ["filters", _], _) => None,
        // The counters of the shard.
        (["s" | "sc" | "g" | "counters"], _) => None,
        // When the janitor looks: the state search holds it to the rule.
        (["x"], _) => None,
        // Whether the node takes writes.
        (["probe"], _) => None,
        (other, _) => panic!("an unexpected write to {other:?}"),
    }
}

pub fn claim(entry: &[u8]) -> Claim {
    let claim = codec::decode(entry).ok().and_then(OutboxEntry::into_claim);
    claim.unwrap_or_else(|| panic!("no claim: {entry:?}"))
}

fn content(bytes: &[u8]) -> Content {
    let (kind, oid) = bytes.split_first_chunk::<2>().expect("a content");
    Content { kind: u16::from_be_bytes(*kind), oid: u64::from_be_bytes(oid.try_into().expect("a content")) }
}

/// What a transaction has written, user by user. Each user's writes come with one new head.
pub fn writes(transaction: Vec<Words>) -> Vec<Write> {
    let mut writes: Vec<Write> = Vec::new();
    let mut indexes = HashMap::new();
    for command in transaction {
        let Some(user) = user_of(&command) else { continue };
        let index = *indexes.entry(user).or_insert_with(|| {
            writes.push(Write { user, commands: Vec::new() });
            writes.len() - 1
        });
        writes[index].commands.push(command);
    }
    for Write { user, commands } in &writes {
        let heads = commands.iter().filter(|command| command[0] == b"SET").count();
        assert_eq!(heads, 1, "heads of user {} in {commands:?}", user.0);
    }
    writes
}

impl Write {
    /// Under which it was written.
    pub fn token(&self) -> Token {
        let mut heads = self.commands.iter().filter(|command| command[0] == b"SET");
        heads.next().map(|command| head::decode(&command[2]).expect("a head").token).expect("there is one")
    }
}

impl StoredUser {
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        let current = self.head.iter().filter_map(|head| head.current.as_ref()).map(|(_, stored)| stored);
        current.chain(self.rows.values()).filter_map(|stored| stored.row.record.as_ref())
    }

    /// Returns how many claims it has put into the outbox.
    pub fn write(&mut self, write: &Write) -> usize {
        let before = self.outbox.len();
        write.commands.iter().for_each(|command| self.follow(command));
        self.outbox.len() - before
    }

    fn follow(&mut self, command: &Words) {
        let key = parts(&command[1]);
        match (&command[0][..], key[0].as_str()) {
            (b"SET", "h") => self.head = Some(head::decode(&command[2]).expect("a head")),
            (b"HSET", "r") => self.put_row(&command[2], &command[3]),
            (b"HDEL", "r") => drop(self.rows.remove(&content(&command[2]))),
            (b"ZADD", "t") => self.put_place(&command[3], &command[2]),
            (b"ZREM", "t") => drop(self.timeline.remove(&content(&command[2]))),
            (b"UNLINK", _) => command[1..].iter().for_each(|key| self.unlink(&parts(key))),
            (b"HSET", "w") => {
                let (mark, of_content) = command[2].split_first_chunk::<4>().expect("a claim");
                self.claims.insert((key[1].clone(), u32::from_be_bytes(*mark), Some(content(of_content))));
            }
            (b"SADD", "c") => drop(self.claims.insert((key[1].clone(), RewardRule::mark(&key[2]), None))),
            (b"SREM", "c") => drop(self.claims.remove(&(key[1].clone(), RewardRule::mark(&key[2]), None))),
            (b"ZADD", "o") => self.outbox.push(claim(&command[3])),
            (b"PEXPIREAT", _) => {}
            (other, key) => panic!("{} of {key}", String::from_utf8_lossy(other)),
        }
    }

    pub fn put_row(&mut self, field: &[u8], value: &[u8]) {
        let content = content(field);
        self.rows.insert(content, row::parse(content, value).expect("a row"));
    }

    pub fn put_place(&mut self, member: &[u8], score: &[u8]) {
        let score = std::str::from_utf8(score).ok().and_then(|score| score.parse().ok()).expect("a score");
        self.timeline.insert(content(member), score);
    }

    fn unlink(&mut self, key: &[String]) {
        match key[0].as_str() {
            "r" => self.rows.clear(),
            "t" => self.timeline.clear(),
            "w" => self.claims.retain(|(day, _, content)| *day != key[1] || content.is_none()),
            other => panic!("an unexpected removal of {other}"),
        }
    }

    /// Whether it is what is true, each row in one place.
    pub fn fits(&self, state: &State, user: UserId) -> Result<(), String> {
        let head = self.head.as_ref().ok_or("no head")?;
        same("forgetting", &head.forgetting, &state.forgetting(user))?;
        let mut contents: BTreeMap<Content, ContentRow> = state.contents(user).into_iter().collect();
        same("timeline", &self.timeline.keys().collect::<Vec<_>>(), &contents.keys().collect())?;
        let current = state.current.and_then(|content| Some((content, contents.remove(&content)?)));
        same("row in the head", &head.current.clone().map(|(content, stored)| (content, stored.row)), &current)?;
        let rows = self.rows.iter().map(|(content, stored)| (*content, stored.row.clone())).collect();
        same("rows", &rows, &contents)?;
        for (content, row) in &contents {
            same("place in the timeline", &self.timeline[content], &score(row.eviction()))?;
        }
        let claims = state.kept().claims().iter().map(claimed).collect();
        same("claims", &self.claims, &claims)
    }
}

/// Deleted contents are before all others.
fn score(eviction: Eviction) -> i64 {
    let newest = eviction.newest as i64;
    if eviction.has_record { newest } else { newest - (1 << 48) }
}

fn claimed(key: &ClaimKey) -> Claimed {
    (key.day.to_string(), RewardRule::mark(&key.rule), key.content)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: {found:?}, not {expected:?}")),
    }
}
