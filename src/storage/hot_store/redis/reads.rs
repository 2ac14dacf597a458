//! What is asked of a user, and of a shard's claims.

use ::redis::pipe;

use super::keys::{self, Keys};
use super::row::{self, StoredUser};
use super::{Shared, checked, scripts, value};
use crate::model::ids::{Content, UserId};
use crate::model::page::{Page, PageRequest, Position};
use crate::model::record::Record;
use crate::model::rewards::claim::ClaimKey;
use crate::model::rewards::day::Day;
use crate::model::shard::Shard;
use crate::storage::hot_store::redis::bytes::{MOMENT_MAX, Malformed, put};
use crate::storage::hot_store::{Standing, StoreError};

/// Rows that are looked at together for their claims.
const CHUNK: isize = 512;

impl Shared {
    pub async fn get(&self, user: UserId, contents: &[Content], now: u64) -> Result<Vec<Option<Record>>, StoreError> {
        if contents.is_empty() {
            return Ok(Vec::new());
        }
        let (shard, horizon) = (keys::shard_of(user), now.saturating_sub(self.settings.retention_ms));
        let names = Keys::of(shard);
        let fields: Vec<_> = contents.iter().map(|content| keys::content(*content).to_vec()).collect();
        let mut commands = pipe();
        commands.get(names.user(user)).cmd("HMGET").arg(names.rows(user)).arg(fields);
        let mut answers = checked::ask(&self.redis, shard, commands).await?.into_iter();
        let watermark = user_of(answers.next())?.watermark;
        let rows = value::array(answers.next().unwrap_or(::redis::Value::Nil))?;
        let record = |(content, row)| -> Result<Option<Record>, Malformed> {
            let Some(row) = value::bytes_or_nil(row)? else { return Ok(None) };
            let record = row::parse(content, &row)?.record;
            Ok(record.filter(|record| record.at > watermark && record.at >= horizon))
        };
        Ok(contents.iter().copied().zip(rows).map(record).collect::<Result<_, _>>()?)
    }

    pub async fn list(&self, user: UserId, request: &PageRequest, now: u64) -> Result<Page, StoreError> {
        let (shard, horizon) = (keys::shard_of(user), now.saturating_sub(self.settings.retention_ms));
        let mut after = request.after.map(place).unwrap_or_default();
        let kinds: Vec<u8> = request.kinds.iter().flat_map(|kind| kind.to_be_bytes()).collect();
        let mut records = Vec::new();
        // One more than the page, to know whether there is more.
        while records.len() <= request.limit {
            let wanted = (request.limit - records.len()).saturating_add(1).min(u32::MAX as usize);
            let mut commands = pipe();
            let script = commands.cmd("EVAL").arg(scripts::LIST.as_str()).arg(1).arg(Keys::of(shard).deployment());
            script.arg(self.redis.deployment().as_bytes()).arg(user.0).arg(horizon).arg(wanted).arg(after).arg(&kinds);
            let answer = self.redis.ask(shard, commands).await?.swap_remove(0);
            let mut found = value::array(answer)?.into_iter().map(value::bytes);
            after = found.next().ok_or(Malformed("a list"))??;
            while let (Some(content), Some(row)) = (found.next(), found.next()) {
                let content = keys::content_of(&content?).ok_or(Malformed("a list"))?;
                records.extend(row::parse(content, &row?)?.record);
            }
            if after.is_empty() {
                break;
            }
        }
        Ok(request.cut(records))
    }

    pub async fn paused(&self, user: UserId) -> Result<bool, StoreError> {
        let shard = keys::shard_of(user);
        let mut commands = pipe();
        commands.get(Keys::of(shard).user(user));
        Ok(user_of(checked::ask(&self.redis, shard, commands).await?.into_iter().next())?.paused)
    }

    pub async fn standing(&self, user: UserId, day: Day) -> Result<Standing, StoreError> {
        let shard = keys::shard_of(user);
        let mut commands = pipe();
        commands.get(Keys::of(shard).user(user)).hkeys(Keys::of(shard).rules(day));
        let mut answers = checked::ask(&self.redis, shard, commands).await?.into_iter();
        let paused = user_of(answers.next())?.paused;
        let rules = value::texts(answers.next().unwrap_or(::redis::Value::Nil))?;
        Ok(Standing { paused, rewarded: self.rewarded(user, day, rules).await? })
    }

    pub async fn claims_of(&self, user: UserId, day: Day, limit: usize) -> Result<Vec<ClaimKey>, StoreError> {
        let rules = self.numbered_rules(keys::shard_of(user), day).await?;
        let by_user = self.rewarded(user, day, rules.iter().map(|(id, _)| id.clone()).collect()).await?;
        let key = |rule: &str, content| ClaimKey { rule: rule.into(), day, user, content };
        let mut claims: Vec<ClaimKey> = by_user.iter().map(|rule| key(rule, None)).collect();
        if !rules.is_empty() {
            let mut of_contents = self.exact_claims(user, day).await?;
            if self.has_filters(user, day, &rules).await? {
                of_contents.extend(self.filtered_claims(user, day, limit).await?);
            }
            of_contents.sort_unstable();
            of_contents.dedup();
            let id = |number| rules.iter().find(|(_, theirs)| *theirs == number).map(|(id, _)| id);
            claims.extend(of_contents.iter().filter_map(|(content, number)| Some(key(id(*number)?, Some(*content)))));
        }
        claims.truncate(limit);
        Ok(claims)
    }

    pub async fn claims_in(&self, shard: Shard, day: Day) -> Result<Vec<ClaimKey>, StoreError> {
        let rules = self.numbered_rules(shard, day).await?;
        let mut commands = pipe();
        for (id, _) in &rules {
            commands.smembers(Keys::of(shard).claimants(day, id));
        }
        let mut claims = Vec::new();
        let answers = checked::ask(&self.redis, shard, commands).await?;
        for ((rule, _), members) in rules.iter().zip(answers) {
            let rule: std::sync::Arc<str> = rule.as_str().into();
            for member in value::array(members)? {
                let user = keys::claimant_of(&value::bytes(member)?).ok_or(Malformed("a claim"))?;
                claims.push(ClaimKey { rule: rule.clone(), day, user, content: None });
            }
        }
        Ok(claims)
    }

    /// Those of these rules by which the user has claimed.
    async fn rewarded(&self, user: UserId, day: Day, mut rules: Vec<String>) -> Result<Vec<String>, StoreError> {
        if rules.is_empty() || !self.calendar.keeps_claims_of(day) {
            return Ok(Vec::new());
        }
        rules.sort_unstable();
        let shard = keys::shard_of(user);
        let mut commands = pipe();
        for rule in &rules {
            commands.sismember(Keys::of(shard).claimants(day, rule), keys::claimant(user));
        }
        let answers = checked::ask(&self.redis, shard, commands).await?;
        let mut claimed = answers.into_iter().map(|answer| value::number(answer).map(|number| number == 1));
        let rewarded = claimed.by_ref().zip(rules).map(|(claimed, rule)| Ok(claimed?.then_some(rule)));
        let rewarded = rewarded.collect::<Result<Vec<_>, Malformed>>()?;
        Ok(rewarded.into_iter().flatten().collect())
    }

    /// The rules that have claims of this day in the shard, by id.
    async fn numbered_rules(&self, shard: Shard, day: Day) -> Result<Vec<(String, u8)>, StoreError> {
        if !self.calendar.keeps_claims_of(day) {
            return Ok(Vec::new());
        }
        let mut commands = pipe();
        commands.hgetall(Keys::of(shard).rules(day));
        let fields = value::texts(checked::ask(&self.redis, shard, commands).await?.swap_remove(0))?;
        let number = |text: &str| text.parse().map_err(|_| Malformed("the rules of a day"));
        let pairs = fields.chunks_exact(2).map(|pair| Ok((pair[0].clone(), number(&pair[1])?)));
        Ok(pairs.collect::<Result<_, Malformed>>()?)
    }

    /// Claims per content that are kept one by one, with the numbers of their rules.
    async fn exact_claims(&self, user: UserId, day: Day) -> Result<Vec<(Content, u8)>, StoreError> {
        let shard = keys::shard_of(user);
        let mut commands = pipe();
        commands.hkeys(Keys::of(shard).contents_claimed(day, user));
        let fields = value::array(checked::ask(&self.redis, shard, commands).await?.swap_remove(0))?;
        let claim = |field| {
            let field = value::bytes(field)?;
            let (number, content) = field.split_first().ok_or(Malformed("a claim"))?;
            Ok((keys::content_of(content).ok_or(Malformed("a claim"))?, *number))
        };
        Ok(fields.into_iter().map(claim).collect::<Result<_, Malformed>>()?)
    }

    async fn has_filters(&self, user: UserId, day: Day, rules: &[(String, u8)]) -> Result<bool, StoreError> {
        let shard = keys::shard_of(user);
        let mut commands = pipe();
        for (id, _) in rules {
            commands.exists(Keys::of(shard).filter(day, id));
        }
        let answers = checked::ask(&self.redis, shard, commands).await?;
        Ok(answers.into_iter().any(|answer| value::number(answer) == Ok(1)))
    }

    /// Claims that a filter cannot tell and rows remember, from the newest row on until none is of the day. A content that
    /// was forgotten since is not told of.
    async fn filtered_claims(&self, user: UserId, day: Day, limit: usize) -> Result<Vec<(Content, u8)>, StoreError> {
        let (shard, mut from, mut claims) = (keys::shard_of(user), 0, Vec::new());
        let names = Keys::of(shard);
        while claims.len() < limit {
            let mut commands = pipe();
            commands.zrevrange(names.timeline(user), from, from + CHUNK - 1);
            let members = value::array(checked::ask(&self.redis, shard, commands).await?.swap_remove(0))?;
            if members.is_empty() {
                break;
            }
            let members = members.into_iter().map(value::bytes).collect::<Result<Vec<_>, _>>()?;
            let mut commands = pipe();
            commands.cmd("HMGET").arg(names.rows(user)).arg(&members);
            let rows = value::array(checked::ask(&self.redis, shard, commands).await?.swap_remove(0))?;
            let (mut records, mut as_new) = (0, 0);
            for (member, row) in members.iter().zip(rows) {
                let Some(row) = value::bytes_or_nil(row)? else { continue };
                let content = keys::content_of(member).ok_or(Malformed("a content"))?;
                let row = row::parse(content, &row)?;
                let Some(record) = row.record else { continue };
                records += 1;
                as_new += usize::from(record.credit.day >= day);
                if record.credit.day == day {
                    claims.extend(row.claims.iter().map(|number| (content, *number)));
                }
            }
            if records > 0 && as_new == 0 {
                break;
            }
            from += CHUNK;
        }
        Ok(claims)
    }
}

fn user_of(answer: Option<::redis::Value>) -> Result<StoredUser, Malformed> {
    let bytes = value::bytes_or_nil(answer.unwrap_or(::redis::Value::Nil))?;
    bytes.map_or(Ok(StoredUser::default()), |bytes| row::parse_user(&bytes))
}

fn place(position: Position) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(16);
    put::<6>(&mut bytes, position.at.min(MOMENT_MAX));
    bytes.extend_from_slice(&keys::content(position.content));
    bytes
}
