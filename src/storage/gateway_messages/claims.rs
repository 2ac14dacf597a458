//! Claims, and news of them.

use super::{Malformed, decode_content, decode_day, encode_content, encode_day, required, wire};
use model::ids::{Content, UserId};
use model::rewards::claim::ClaimKey;
use model::rewards::reward_notice::RewardNotice;

pub fn encode(claim: &ClaimKey) -> wire::Claim {
    let content = claim.content.map(encode_content);
    wire::Claim { rule: claim.rule.as_ref().to_owned(), day: encode_day(Some(claim.day)), content }
}

pub fn decode(user: UserId, sent: wire::Claim) -> Result<ClaimKey, Malformed> {
    let day = required(decode_day(sent.day)?, "the day of a claim")?;
    let content = sent.content.as_ref().map(decode_content).transpose()?;
    Ok(ClaimKey { rule: sent.rule.into(), day, user, content })
}

/// News for the sender of one beat, which has one content.
pub fn encode_news(news: &RewardNotice) -> wire::News {
    wire::News {
        decided_user: encode_day(news.flag),
        decided_content: encode_day(news.contents.last().map(|(day, _)| *day)),
        claims: news.claims.iter().map(encode).collect(),
    }
}

/// `content`: of the beat; `None`: it was no beat.
pub fn decode_news(user: UserId, content: Option<Content>, sent: wire::News) -> Result<RewardNotice, Malformed> {
    let contents = decode_day(sent.decided_content)?.zip(content);
    Ok(RewardNotice {
        claims: sent.claims.into_iter().map(|claim| decode(user, claim)).collect::<Result<_, _>>()?,
        flag: decode_day(sent.decided_user)?,
        contents: contents.into_iter().collect(),
    })
}
