//! Carries users over from the formats of older versions. The first had no heads:
//!
//! | before | now |
//! |---|---|
//! | `{h}:u:<mid>`: watermark 6, floor 6, frozen 6, switches | in the head |
//! | in a row and in `{h}:w:<day>:<mid>`: a rule's number of the day, 1 byte | the rule's mark, 4 bytes |
//!
//! In both, what a user has expired by itself; now it stays, and the user is entered in `{h}:x`, to be looked at soon.
//!
//! All rows stay where they are; a head has no content being played until the next beat. A user is carried over in one
//! transaction, and is left alone when entered already.

use std::collections::{HashMap, HashSet};

use ::redis::aio::MultiplexedConnection;
use ::redis::{Pipeline, RedisResult, cmd, pipe};
use futures_util::future::{BoxFuture, FutureExt};

use super::bytes::{DecodeError, Reader};
use super::head;
use crate::model::forgetting::UserRow;
use crate::model::recording::{Recording, Switch};
use crate::model::rewards::day::Day;
use crate::model::rewards::rule::RewardRule;
use crate::storage::hot_store::optimistic::{Head, Token};

/// Keys of one step of a scan.
const STEP: usize = 1_000;
const FIELD_BYTES_BEFORE: usize = 11;

/// Rules by their numbers of one day in one shard.
type Numbers = HashMap<u8, u32>;

/// All users of one master. Returns how many were carried over.
pub fn carry_over(connection: &mut MultiplexedConnection) -> BoxFuture<'_, RedisResult<u64>> {
    async move {
        let mut scan = Scan::default();
        let mut users = 0;
        while let Some(keys) = scan.next(connection, "{h*}:*").await? {
            let of_users: HashSet<_> = keys.iter().filter_map(|key| user_of(key)).collect();
            for (tag, mid) in of_users {
                users += u64::from(user(connection, tag, mid).await?);
            }
            for key in keys.iter().filter(|key| is_single_claims(key)) {
                single_claims(connection, key).await?;
            }
        }
        Ok(users)
    }
    .boxed()
}

#[derive(Default)]
struct Scan {
    cursor: u64,
    over: bool,
}

impl Scan {
    async fn next(&mut self, connection: &mut MultiplexedConnection, keys: &str) -> RedisResult<Option<Vec<String>>> {
        if self.over {
            return Ok(None);
        }
        let mut scan = cmd("SCAN");
        scan.arg(self.cursor).arg("MATCH").arg(keys).arg("COUNT").arg(STEP);
        let (cursor, found): (u64, Vec<Vec<u8>>) = scan.query_async(connection).await?;
        (self.cursor, self.over) = (cursor, cursor == 0);
        Ok(Some(found.into_iter().filter_map(|key| String::from_utf8(key).ok()).collect()))
    }
}

/// The tag and the mid in a key of a user's rows, timeline or forgetting.
fn user_of(key: &str) -> Option<(&str, &str)> {
    let (tag, rest) = key.split_once(':')?;
    let (letter, mid) = rest.split_once(':')?;
    let is_ours = is_tag(tag) && matches!(letter, "h" | "u" | "r" | "t") && mid.parse::<u64>().is_ok();
    is_ours.then_some((tag, mid))
}

fn is_single_claims(key: &str) -> bool {
    let parts: Vec<&str> = key.split(':').collect();
    matches!(parts[..], [tag, "w", day, mid] if is_tag(tag) && day.parse::<Day>().is_ok() && mid.parse::<u64>().is_ok())
}

/// Of a shard. Keys of other programs are left alone.
fn is_tag(text: &str) -> bool {
    let number = text.strip_prefix("{h").and_then(|rest| rest.strip_suffix('}'));
    number.is_some_and(|number| number.parse::<u16>().is_ok())
}

/// False: the user was carried over before.
async fn user(connection: &mut MultiplexedConnection, tag: &str, mid: &str) -> RedisResult<bool> {
    let [head_key, user_key, rows, timeline] = ["h", "u", "r", "t"].map(|letter| format!("{tag}:{letter}:{mid}"));
    let looks = format!("{tag}:x");
    let mut commands = pipe();
    commands.exists(&head_key).cmd("ZSCORE").arg(&looks).arg(mid);
    let (has_head, entered): (bool, Option<f64>) = commands.query_async(connection).await?;
    if has_head && entered.is_some() {
        return Ok(false);
    }
    let mut transaction = pipe();
    transaction.atomic();
    if !has_head {
        add_head(connection, tag, [&head_key, &user_key, &rows], &mut transaction).await?;
    }
    for key in [&head_key, &rows, &timeline] {
        transaction.cmd("PERSIST").arg(key).ignore();
    }
    transaction.zadd(&looks, mid, 0).ignore();
    transaction.query_async::<()>(connection).await?;
    Ok(true)
}

/// Of the first format.
async fn add_head(
    connection: &mut MultiplexedConnection,
    tag: &str,
    [head_key, user_key, rows]: [&String; 3],
    transaction: &mut Pipeline,
) -> RedisResult<()> {
    let mut commands = pipe();
    commands.get(user_key).hgetall(rows);
    type Found = (Option<Vec<u8>>, Vec<(Vec<u8>, Vec<u8>)>);
    let (forgotten, rows_before): Found = commands.query_async(connection).await?;
    let forgetting = forgotten.as_deref().map(forgetting).transpose().map_err(unreadable(user_key))?;
    // Any token will do that no writer of today gives out: it is the first.
    let token = Token { version: 1, writer: rand::random() };
    let head = Head { token, forgetting: forgetting.unwrap_or_default(), ..Head::default() };
    let mut numbers = Numbered { tag, by_day: HashMap::new() };
    for (content, row) in rows_before {
        if let Some(row) = numbers.row(connection, &row).await? {
            transaction.hset(rows, content, row).ignore();
        }
    }
    transaction.cmd("SET").arg(head_key).arg(head::encode(&head)).arg("NX").ignore();
    transaction.del(user_key).ignore();
    Ok(())
}

fn forgetting(bytes: &[u8]) -> Result<UserRow, DecodeError> {
    let mut user = Reader::of("a user", bytes);
    let (watermark, floor, frozen) = (user.number(6)?, user.number(6)?, user.number(6)?);
    let mut switches = Vec::new();
    while !user.is_empty() {
        switches.push(Switch { at: user.number(6)?, paused: user.byte()? == 1 });
    }
    Ok(UserRow { watermark, floor, recording: Recording::from_parts(switches, frozen) })
}

/// The rules of a shard, read once for each day.
struct Numbered<'t> {
    tag: &'t str,
    by_day: HashMap<String, Numbers>,
}

impl Numbered<'_> {
    async fn of(&mut self, connection: &mut MultiplexedConnection, day: String) -> RedisResult<&Numbers> {
        if !self.by_day.contains_key(&day) {
            let key = format!("{}:c:{day}", self.tag);
            let rules: Vec<(String, u8)> = cmd("HGETALL").arg(key).query_async(connection).await?;
            let numbers = rules.into_iter().map(|(id, number)| (number, RewardRule::mark(&id))).collect();
            self.by_day.insert(day.clone(), numbers);
        }
        Ok(&self.by_day[&day])
    }

    /// The row with marks in place of numbers; `None`: it has none.
    async fn row(&mut self, connection: &mut MultiplexedConnection, row: &[u8]) -> RedisResult<Option<Vec<u8>>> {
        let Some((day, at, count)) = claims_in(row).map_err(unreadable(self.tag))? else { return Ok(None) };
        let numbers = self.of(connection, Day::of_number(day).to_string()).await?;
        let marks: Vec<u8> = row[at + 1..at + 1 + count]
            .iter()
            .filter_map(|number| numbers.get(number))
            .flat_map(|mark| mark.to_be_bytes())
            .collect();
        let mut new = row[..at].to_vec();
        new.push(marks.len() as u8);
        new.extend_from_slice(&marks);
        new.extend_from_slice(&row[at + 1 + count..]);
        Ok(Some(new))
    }
}

/// The day of the claims in a row, where they stand, and how many there are.
fn claims_in(bytes: &[u8]) -> Result<Option<(u16, usize, usize)>, DecodeError> {
    const STATE: u8 = 0b111;
    const ABOVE: u8 = 8;
    const TOMBSTONE: u8 = 16;
    const CLAIMS: u8 = 32;
    let mut row = Reader::of("a content", bytes);
    let flags = row.byte()?;
    if flags & CLAIMS == 0 || flags & STATE == 0 {
        return Ok(None);
    }
    row.bytes(6 + 8)?;
    let day = row.number(2)? as u16;
    row.bytes(6)?;
    row.short()?;
    row.bytes(if flags & ABOVE == 0 { 0 } else { 7 })?;
    row.bytes(if flags & TOMBSTONE == 0 { 0 } else { 13 })?;
    let rest = row.rest();
    let count = Reader::of("a content", rest).short()?.len();
    Ok(Some((day, bytes.len() - rest.len(), count)))
}

/// Claims of one user and day that are kept by themselves.
async fn single_claims(connection: &mut MultiplexedConnection, key: &str) -> RedisResult<()> {
    let mut parts = key.split(':');
    let (Some(tag), _, Some(day)) = (parts.next(), parts.next(), parts.next()) else { return Ok(()) };
    let fields: Vec<Vec<u8>> = cmd("HKEYS").arg(key).query_async(connection).await?;
    let mut numbered = Numbered { tag, by_day: HashMap::new() };
    let numbers = numbered.of(connection, day.to_owned()).await?;
    let mut transaction = pipe();
    transaction.atomic();
    for field in fields.iter().filter(|field| field.len() == FIELD_BYTES_BEFORE) {
        if let Some(mark) = numbers.get(&field[0]) {
            transaction.hset(key, [&mark.to_be_bytes(), &field[1..]].concat(), "").ignore();
        }
        transaction.hdel(key, field).ignore();
    }
    transaction.query_async(connection).await
}

fn unreadable(key: &str) -> impl Fn(DecodeError) -> ::redis::RedisError + use<> {
    let key = key.to_owned();
    move |error| (::redis::ErrorKind::UnexpectedReturnType, "cannot be carried over", format!("{key}: {error}")).into()
}
