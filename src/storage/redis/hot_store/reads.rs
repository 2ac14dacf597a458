//! Reads of one user, and of a shard's claims.

use ::redis::pipe;

use super::Shared;
use super::keys::{self, Keys};
use super::{head, load, row};
use crate::hot_store::bytes::DecodeError;
use crate::{checked, value};
use model::cold::ColdMark;
use model::ids::{Content, UserId};
use model::record::Record;
use model::recording::Switch;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::rewards::rule::RewardRule;
use model::shard::Shard;
use storage::hot_store::optimistic::{Head, StoredRow, Token};
use storage::hot_store::{Found, FoundCold, StoreError, UserStatus};

/// Rows that are searched for claims in one step.
const CHUNK: isize = 512;

impl Shared {
    pub async fn get(&self, user: UserId, contents: &[Content], now: u64) -> Result<Found, StoreError> {
        if contents.is_empty() {
            return Ok(Found::default());
        }
        let (shard, horizon) = (keys::shard_of(user), self.settings.retention.horizon(now));
        let names = Keys::of(shard);
        let fields: Vec<_> = contents.iter().map(|content| keys::content(*content).to_vec()).collect();
        let mut commands = pipe();
        commands.get(names.head(user)).cmd("HMGET").arg(names.rows(user)).arg(fields).get(names.head(user));
        // A commit in between may have moved a row between the head and the other rows.
        let (head, rows) = loop {
            let mut answers = checked::ask(&self.redis, shard, commands.clone()).await?.into_iter();
            let [before, rows, after] = [(); 3].map(|()| answers.next());
            if before == after {
                break (head_of(before)?, value::array(rows.unwrap_or(::redis::Value::Nil))?);
            }
        };
        let mut absent = Vec::new();
        let record = |(index, (content, row))| -> Result<Option<Record>, DecodeError> {
            let row = match (&head.current, value::bytes_or_nil(row)?) {
                (Some((current, row)), _) if *current == content => row.row.clone(),
                (_, Some(row)) => row::parse(content, &row)?.row,
                (_, None) => {
                    absent.push(index);
                    return Ok(None);
                }
            };
            Ok(row.live(&head.forgetting, horizon).cloned())
        };
        let records = contents.iter().copied().zip(rows).enumerate().map(record).collect::<Result<Vec<_>, _>>()?;
        let cold = match self.cold_mark(&head, horizon) {
            Some(mark) if !absent.is_empty() => {
                let indices = self.may_be_cold(user, contents, absent).await?;
                let oldest_live = head.forgetting.oldest_live(horizon);
                (!indices.is_empty()).then_some(FoundCold { mark, indices, oldest_live })
            }
            _ => None,
        };
        Ok(Found { records, cold, partial: false })
    }

    /// The mark of what is only in the history store, by the head, or by the absence of one.
    pub(super) fn cold_mark(&self, head: &Head, horizon: u64) -> Option<ColdMark> {
        // A stored head has a token.
        let is_absent = head.token == Token::default();
        match is_absent && self.redis.rebuilt_at().is_some() {
            true => Some(ColdMark::UNREAD),
            false => head.cold_mark(horizon),
        }
    }

    /// Those of the indices whose contents may be cold. The filter is read after the rows: a row that leaves in between
    /// is in it.
    async fn may_be_cold(
        &self,
        user: UserId,
        contents: &[Content],
        mut indices: Vec<usize>,
    ) -> Result<Vec<usize>, StoreError> {
        let shard = keys::shard_of(user);
        let mut commands = pipe();
        commands.get(Keys::of(shard).cold_filter(user));
        let filter = load::cold_filter(checked::ask(&self.redis, shard, commands).await?.swap_remove(0))?;
        if let Some(filter) = filter {
            indices.retain(|index| filter.has(contents[*index]));
        }
        Ok(indices)
    }

    pub async fn last_switch(&self, user: UserId) -> Result<Option<Switch>, StoreError> {
        let shard = keys::shard_of(user);
        let mut commands = pipe();
        commands.get(Keys::of(shard).head(user));
        let answer = checked::ask(&self.redis, shard, commands).await?.into_iter().next();
        Ok(head_of(answer)?.forgetting.recording.last())
    }

    pub async fn user_status(&self, user: UserId, day: Day) -> Result<UserStatus, StoreError> {
        let shard = keys::shard_of(user);
        let mut commands = pipe();
        commands.get(Keys::of(shard).head(user)).hkeys(Keys::of(shard).rules(day));
        let mut answers = checked::ask(&self.redis, shard, commands).await?.into_iter();
        let head = answers.next().map(value::bytes_or_nil).transpose()?.flatten();
        let head = head.as_deref().map(head::decode).transpose()?;
        let paused = head.as_ref().is_some_and(|head| head.forgetting.recording.paused());
        // Cached, since the first beat of the connection comes soon.
        head.into_iter().for_each(|head| self.users.learn(user, head));
        let rules = reward_rules(answers.next().unwrap_or(::redis::Value::Nil))?;
        Ok(UserStatus { paused, rewarded: self.rewarded(user, day, rules).await? })
    }

    pub async fn claims_of(&self, user: UserId, day: Day, limit: usize) -> Result<Vec<ClaimKey>, StoreError> {
        let rules = self.rules(keys::shard_of(user), day).await?;
        let by_user = self.rewarded(user, day, rules.clone()).await?;
        let key = |rule: &str, content| ClaimKey { rule: rule.into(), day, user, content };
        let mut claims: Vec<ClaimKey> = by_user.iter().map(|rule| key(rule, None)).collect();
        if !rules.is_empty() {
            let mut of_contents = self.exact_claims(user, day).await?;
            if self.has_filters(user, day, &rules).await? {
                of_contents.extend(self.filtered_claims(user, day, limit).await?);
            }
            of_contents.sort_unstable();
            of_contents.dedup();
            let id = |mark| rules.iter().find(|id| RewardRule::mark(id) == mark);
            claims.extend(of_contents.iter().filter_map(|(content, mark)| Some(key(id(*mark)?, Some(*content)))));
        }
        claims.truncate(limit);
        Ok(claims)
    }

    pub async fn claims_in(&self, shard: Shard, day: Day) -> Result<Vec<ClaimKey>, StoreError> {
        let rules = self.rules(shard, day).await?;
        let mut commands = pipe();
        for id in &rules {
            commands.smembers(Keys::of(shard).claimants(day, id));
        }
        let mut claims = Vec::new();
        let answers = checked::ask(&self.redis, shard, commands).await?;
        for (rule, members) in rules.iter().zip(answers) {
            let rule: std::sync::Arc<str> = rule.as_str().into();
            for member in value::array(members)? {
                let user = keys::claimant_of(&value::bytes(member)?).ok_or(DecodeError("a claim"))?;
                claims.push(ClaimKey { rule: rule.clone(), day, user, content: None });
            }
        }
        Ok(claims)
    }

    /// The rules of this list by which the user has claimed.
    async fn rewarded(&self, user: UserId, day: Day, rules: Vec<String>) -> Result<Vec<String>, StoreError> {
        if rules.is_empty() || !self.calendar.keeps_claims_of(day) {
            return Ok(Vec::new());
        }
        let shard = keys::shard_of(user);
        let mut commands = pipe();
        for rule in &rules {
            commands.sismember(Keys::of(shard).claimants(day, rule), keys::claimant(user));
        }
        let answers = checked::ask(&self.redis, shard, commands).await?;
        let mut claimed = answers.into_iter().map(|answer| value::number(answer).map(|number| number == 1));
        let rewarded = claimed.by_ref().zip(rules).map(|(claimed, rule)| Ok(claimed?.then_some(rule)));
        let rewarded = rewarded.collect::<Result<Vec<_>, DecodeError>>()?;
        Ok(rewarded.into_iter().flatten().collect())
    }

    /// The rules that have claims of this day in the shard, by id.
    async fn rules(&self, shard: Shard, day: Day) -> Result<Vec<String>, StoreError> {
        if !self.calendar.keeps_claims_of(day) {
            return Ok(Vec::new());
        }
        let mut commands = pipe();
        commands.hkeys(Keys::of(shard).rules(day));
        Ok(reward_rules(checked::ask(&self.redis, shard, commands).await?.swap_remove(0))?)
    }

    /// Claims per content that are kept exactly, with the marks of their rules.
    async fn exact_claims(&self, user: UserId, day: Day) -> Result<Vec<(Content, u32)>, StoreError> {
        let shard = keys::shard_of(user);
        let mut commands = pipe();
        commands.hkeys(Keys::of(shard).contents_claimed(day, user));
        let fields = value::array(checked::ask(&self.redis, shard, commands).await?.swap_remove(0))?;
        let claim = |field| {
            let field = value::bytes(field)?;
            let (mark, content) = field.split_first_chunk::<4>().ok_or(DecodeError("a claim"))?;
            Ok((keys::content_of(content).ok_or(DecodeError("a claim"))?, u32::from_be_bytes(*mark)))
        };
        Ok(fields.into_iter().map(claim).collect::<Result<_, DecodeError>>()?)
    }

    async fn has_filters(&self, user: UserId, day: Day, rules: &[String]) -> Result<bool, StoreError> {
        let shard = keys::shard_of(user);
        let mut commands = pipe();
        for id in rules {
            commands.exists(Keys::of(shard).filter(day, id));
        }
        let answers = checked::ask(&self.redis, shard, commands).await?;
        Ok(answers.into_iter().any(|answer| value::number(answer) == Ok(1)))
    }

    /// Claims that are in a filter and in the marks of rows. Reads from the newest row on until no row is of the day. A
    /// content that was forgotten since is left out.
    async fn filtered_claims(&self, user: UserId, day: Day, limit: usize) -> Result<Vec<(Content, u32)>, StoreError> {
        let (shard, mut from) = (keys::shard_of(user), 0);
        let names = Keys::of(shard);
        let mut commands = pipe();
        commands.get(names.head(user));
        let answer = checked::ask(&self.redis, shard, commands).await?.into_iter().next();
        let current = head_of(answer)?.current;
        let mut claims: Vec<(Content, u32)> =
            current.iter().flat_map(|(content, row)| marks(*content, row, day)).collect();
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
                let content = keys::content_of(member).ok_or(DecodeError("a content"))?;
                let row = row::parse(content, &row)?;
                let Some(record) = &row.row.record else { continue };
                records += 1;
                as_new += usize::from(record.credit.day >= day);
                claims.extend(marks(content, &row, day));
            }
            if records > 0 && as_new == 0 {
                break;
            }
            from += CHUNK;
        }
        Ok(claims)
    }
}

pub(super) fn head_of(answer: Option<::redis::Value>) -> Result<Head, DecodeError> {
    let bytes = value::bytes_or_nil(answer.unwrap_or(::redis::Value::Nil))?;
    bytes.map_or(Ok(Head::default()), |bytes| head::decode(&bytes))
}

/// Claims of this day that the row remembers.
fn marks(content: Content, row: &StoredRow, day: Day) -> impl Iterator<Item = (Content, u32)> {
    let is_of_day = row.row.record.as_ref().is_some_and(|record| record.credit.day == day);
    row.claims.iter().filter(move |_| is_of_day).map(move |mark| (content, *mark))
}

/// The rules of this list, in order, without the rule of views: its claims are no rewards.
fn reward_rules(ids: ::redis::Value) -> Result<Vec<String>, DecodeError> {
    let mut rules = value::texts(ids)?;
    rules.retain(|rule| rule != RewardRule::VIEWS);
    rules.sort_unstable();
    Ok(rules)
}
