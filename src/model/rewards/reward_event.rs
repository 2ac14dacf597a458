//! The event of a claim.

use serde::Serialize;

use super::claim::{Claim, ClaimKey};
use super::day::Day;
use crate::cloud_event::{CloudEvent, Data, Source, as_text};
use crate::content_name::{ContentTexts, ToldOid};
use crate::user_name::{ToldUser, UserName};

/// The type of these events. Fields may be added to it; a change of meaning needs another type.
pub const REWARD: &str = "dev.heartline.reward.v1";

#[derive(Serialize)]
struct Reward<'a> {
    rule: &'a str,
    #[serde(serialize_with = "as_text")]
    mid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<&'a str>,
    #[serde(serialize_with = "as_text")]
    day: Day,
    zone: &'a str,
    /// The content that was played when the claim was made, for a rule per user, too.
    kind: u16,
    #[serde(serialize_with = "as_text")]
    oid: ToldOid<'a>,
    #[serde(serialize_with = "as_text")]
    session: u64,
    /// Empty = the client gave none.
    device: &'a str,
    /// `watched` of the beat, milliseconds.
    watched: u64,
    /// The server's clock, milliseconds since 1970.
    claimed_at: u64,
}

impl Claim {
    /// All events of one claim have its id. `name`: of its user, if it is known; `texts`: of its content.
    pub fn event(&self, name: Option<&UserName>, texts: &ContentTexts, source: &Source) -> CloudEvent {
        let ClaimKey { rule, day, user, content: _ } = &self.key;
        let user = ToldUser { id: *user, name };
        CloudEvent {
            id: self.key.id(name, texts),
            source: source.clone(),
            kind: REWARD,
            subject: user.text(),
            time: self.claimed_at,
            partition_key: user.text(),
            data: Data::of(&Reward {
                rule,
                mid: user.id.0,
                sub: user.sub(),
                day: *day,
                zone: &self.zone,
                kind: self.content.kind,
                oid: texts.told(self.content.oid),
                session: self.session.0,
                device: &self.device,
                watched: self.watched,
                claimed_at: self.claimed_at,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::claim;

    #[test]
    fn a_claim_per_user_is_this_event_to_the_letter() {
        let golden = concat!(
            r#"{"specversion":"1.0","id":"first-of-day:2026-11-20:42","source":"/heartline/local","#,
            r#""type":"dev.heartline.reward.v1","subject":"42","time":"2026-11-20T04:46:40.118Z","#,
            r#""datacontenttype":"application/json","partitionkey":"42","data":{"rule":"first-of-day","mid":"42","#,
            r#""day":"2026-11-20","zone":"Europe/Berlin","kind":1,"oid":"100","session":"8311207","device":"tv-3f","#,
            r#""watched":5000,"claimed_at":1795150000118}}"#,
        );
        assert_eq!(claim(42).event(None, ContentTexts::NONE, &Source::of("local")).to_json(), golden);
    }

    #[test]
    fn an_event_of_a_named_user_has_both() {
        let name = UserName::new("auth0|6405").unwrap();
        let told = claim(42).event(Some(&name), ContentTexts::NONE, &Source::of("local")).to_json();
        let golden = [
            r#""id":"first-of-day:2026-11-20:auth0%7C6405""#,
            r#""subject":"auth0|6405""#,
            r#""partitionkey":"auth0|6405""#,
            r#""mid":"42","sub":"auth0|6405","day""#,
        ];
        golden.into_iter().for_each(|part| assert!(told.contains(part), "{told}"));
    }

    #[test]
    fn a_claim_per_content_is_this_event_to_the_letter() {
        let mut claim = claim(u64::MAX);
        claim.key.rule = "first-view".into();
        claim.key.content = Some(claim.content);
        (claim.device, claim.claimed_at) = ("a \"b\"".into(), 1_795_150_000_000);
        let golden = concat!(
            r#"{"specversion":"1.0","id":"first-view:2026-11-20:18446744073709551615:1:100","source":"/heartline/eu-1","#,
            r#""type":"dev.heartline.reward.v1","subject":"18446744073709551615","time":"2026-11-20T04:46:40.000Z","#,
            r#""datacontenttype":"application/json","partitionkey":"18446744073709551615","data":{"rule":"first-view","#,
            r#""mid":"18446744073709551615","day":"2026-11-20","zone":"Europe/Berlin","kind":1,"oid":"100","#,
            r#""session":"8311207","device":"a \"b\"","watched":5000,"claimed_at":1795150000000}}"#,
        );
        assert_eq!(claim.event(None, ContentTexts::NONE, &Source::of("eu-1")).to_json(), golden);
    }
}
