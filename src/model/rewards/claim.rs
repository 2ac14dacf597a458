//! A claim: the decision that a user is the first under a rule on a day.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::day::Day;
use super::rule::{Per, RewardRule};
use crate::content_name::ContentTexts;
use crate::ids::{Content, SessionId, UserId};
use crate::user_name::{ToldUser, UserName};

/// The key of a claim. At most one claim of each key exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClaimKey {
    /// The rule's id.
    pub rule: Arc<str>,
    pub day: Day,
    pub user: UserId,
    /// Only of a rule per content.
    pub content: Option<Content>,
}

/// A claim, with all fields of its event.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    pub key: ClaimKey,
    /// The content that was played when the claim was made, for every kind of rule.
    pub content: Content,
    pub session: SessionId,
    /// Empty = none.
    pub device: Arc<str>,
    /// `watched` of the beat, milliseconds.
    pub watched: u64,
    /// The server's clock, milliseconds.
    pub claimed_at: u64,
    /// The IANA name of the zone of the day.
    pub zone: Arc<str>,
}

impl ClaimKey {
    /// The key of the claim that `user` may make by this rule while `content` is played.
    pub fn of(rule: &RewardRule, day: Day, user: UserId, content: Content) -> Self {
        ClaimKey { rule: rule.id.clone(), day, user, content: (rule.per == Per::Content).then_some(content) }
    }

    /// The id of the claim and of its events, by which clients and consumers know it. `name`: of its user, if it is known;
    /// `texts`: of its content.
    pub fn id(&self, name: Option<&UserName>, texts: &ContentTexts) -> String {
        let user = ToldUser { id: self.user, name }.in_id();
        let content = |content: Content| format!(":{}:{}", content.kind, texts.told(content.oid).in_id());
        let content = self.content.map(content).unwrap_or_default();
        format!("{}:{}:{user}{content}", self.rule, self.day)
    }

    /// Whether the claim counts a view, and is no reward.
    pub fn is_view(&self) -> bool {
        &*self.rule == RewardRule::VIEWS
    }
}

/// As it is stored: `rule:day:mid`, and `:kind:oid` for a rule per content.
impl fmt::Display for ClaimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id(None, ContentTexts::NONE))
    }
}

/// A text that is no id of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no id of a claim")]
pub struct NoClaim;

/// Reads a claim as it is stored.
impl FromStr for ClaimKey {
    type Err = NoClaim;

    fn from_str(id: &str) -> Result<Self, NoClaim> {
        let parts: Vec<&str> = id.split(':').collect();
        let (rule, day, user, content) = match parts[..] {
            [rule, day, user] => (rule, day, user, None),
            [rule, day, user, kind, oid] => (rule, day, user, Some(Content { kind: number(kind)?, oid: number(oid)? })),
            _ => return Err(NoClaim),
        };
        let day = day.parse().map_err(|_| NoClaim)?;
        Ok(ClaimKey { rule: rule.into(), day, user: UserId(number(user)?), content })
    }
}

fn number<N: FromStr>(digits: &str) -> Result<N, NoClaim> {
    digits.parse().map_err(|_| NoClaim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_contains_the_whole_key() {
        let day = "2026-11-20".parse().unwrap();
        let of_user = ClaimKey { rule: "first-of-day".into(), day, user: UserId(42), content: None };
        assert_eq!(of_user.to_string(), "first-of-day:2026-11-20:42");
        let content = Some(Content { kind: 1, oid: 100 });
        let of_content = ClaimKey { rule: "first-view".into(), content, ..of_user.clone() };
        assert_eq!(of_content.to_string(), "first-view:2026-11-20:42:1:100");
        let name = UserName::new("a:b").unwrap();
        assert_eq!(of_content.id(Some(&name), ContentTexts::NONE), "first-view:2026-11-20:a%3Ab:1:100");
        for key in [of_user, of_content] {
            assert_eq!(key.to_string().parse(), Ok(key));
        }
        for other in ["", "a:2026-11-20", "a:2026-11-20:x", "a:today:42", "a:2026-11-20:42:1", "a:2026-11-20:42:1:x"] {
            assert_eq!(other.parse::<ClaimKey>(), Err(NoClaim), "{other}");
        }
    }
}
