//! The events that are made of notices.

use serde::Serialize;

use super::notice::Forgotten;
use crate::cloud_event::{CloudEvent, Data, Source, as_text};
use crate::content_name::{ContentTexts, ToldOid};
use crate::ids::Content;
use crate::record::Record;
use crate::user_name::{ToldUser, UserName};

/// The type of the event of a position. Fields may be added to it; a change of meaning needs another type.
pub const POSITION: &str = "dev.heartline.position.v1";
/// The same, of a forgetting.
pub const FORGOTTEN: &str = "dev.heartline.forgotten.v1";

#[derive(Serialize)]
struct Position<'a> {
    #[serde(serialize_with = "as_text")]
    mid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<&'a str>,
    kind: u16,
    #[serde(serialize_with = "as_text")]
    oid: ToldOid<'a>,
    /// Milliseconds.
    pos: u64,
    /// Milliseconds; 0 = unknown.
    dur: u64,
    state: &'a str,
    #[serde(serialize_with = "as_text")]
    session: u64,
    /// Empty = the client gave none.
    device: &'a str,
    /// Milliseconds.
    watched: u64,
    /// The server's clock, milliseconds since 1970.
    at: u64,
    cause: &'static str,
}

#[derive(Serialize)]
struct Forgetting<'a> {
    #[serde(serialize_with = "as_text")]
    mid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<&'a str>,
    cause: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    items: Vec<Item<'a>>,
    /// The server's clock, milliseconds since 1970.
    at: u64,
}

#[derive(Serialize)]
struct Item<'a> {
    kind: u16,
    #[serde(serialize_with = "as_text")]
    oid: ToldOid<'a>,
}

/// All events of one version of a record have one id: `mid:kind:oid:version`, with names in place of numbers where they are
/// known. `texts`: of its content.
pub fn position_event(user: ToldUser, record: &Record, texts: &ContentTexts, source: &Source) -> CloudEvent {
    let Content { kind, oid } = record.content;
    let oid = texts.told(oid);
    CloudEvent {
        id: format!("{}:{kind}:{}:{}", user.in_id(), oid.in_id(), record.version.0),
        source: source.clone(),
        kind: POSITION,
        subject: user.text(),
        time: record.at,
        partition_key: user.text(),
        data: Data::of(&Position {
            mid: user.id.0,
            sub: user.sub(),
            kind,
            oid,
            pos: record.pos,
            dur: record.dur,
            state: record.state.word(),
            session: record.session.0,
            device: &record.device,
            watched: record.watched,
            at: record.at,
            cause: "beat",
        }),
    }
}

impl Forgotten {
    /// All events of one forgetting have one id: `mid:version`, likewise. `name`: of its user, if it is known; `texts`: of its
    /// contents.
    pub fn event(&self, name: Option<&UserName>, texts: &ContentTexts, source: &Source) -> CloudEvent {
        let user = ToldUser { id: self.user, name };
        let item = |content: &Content| Item { kind: content.kind, oid: texts.told(content.oid) };
        CloudEvent {
            id: format!("{}:{}", user.in_id(), self.version.0),
            source: source.clone(),
            kind: FORGOTTEN,
            subject: user.text(),
            time: self.at,
            partition_key: user.text(),
            data: Data::of(&Forgetting {
                mid: user.id.0,
                sub: user.sub(),
                cause: self.cause.word(),
                items: self.items.iter().map(item).collect(),
                at: self.at,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beat::State;
    use crate::content_name::ContentName;
    use crate::ids::{SessionId, UserId};
    use crate::notices::ForgottenCause;
    use crate::rewards::credit::Credit;
    use crate::version::Version;

    #[test]
    fn a_position_is_this_event_to_the_letter() {
        let record = Record {
            content: Content { kind: 1, oid: u64::MAX },
            pos: 73_200,
            dur: 300_000,
            state: State::Playing,
            session: SessionId(8_311_207),
            device: "tv-3f".into(),
            watched: 5_000,
            at: 1_795_150_000_118,
            version: Version(1_795_150_000_118_000),
            credit: Credit::default(),
        };
        let golden = concat!(
            r#"{"specversion":"1.0","id":"42:1:18446744073709551615:1795150000118000","source":"/heartline/local","#,
            r#""type":"dev.heartline.position.v1","subject":"42","time":"2026-11-20T04:46:40.118Z","#,
            r#""datacontenttype":"application/json","partitionkey":"42","data":{"mid":"42","kind":1,"#,
            r#""oid":"18446744073709551615","pos":73200,"dur":300000,"state":"playing","session":"8311207","#,
            r#""device":"tv-3f","watched":5000,"at":1795150000118,"cause":"beat"}}"#,
        );
        let (user, source) = (ToldUser::by_number(UserId(42)), Source::of("local"));
        assert_eq!(position_event(user, &record, ContentTexts::NONE, &source).to_json(), golden);
        let name = ContentName::new("a:b é").unwrap();
        let named = Record { content: Content { kind: 1, oid: name.oid() }, ..record };
        let texts = [(name.oid(), name)].into_iter().collect();
        let told = position_event(user, &named, &texts, &source).to_json();
        for part in [r#""id":"42:1:a%3Ab%20%C3%A9:1795150000118000""#, r#""kind":1,"oid":"a:b é","pos""#] {
            assert!(told.contains(part), "{told}");
        }
    }

    #[test]
    fn a_forgetting_is_this_event_to_the_letter() {
        let mut forgotten = Forgotten {
            user: UserId(u64::MAX),
            cause: ForgottenCause::Delete,
            items: vec![Content { kind: 1, oid: 100 }],
            at: 1_795_150_000_118,
            version: Version(7),
        };
        let attributes = concat!(
            r#"{"specversion":"1.0","id":"18446744073709551615:7","source":"/heartline/eu-1","#,
            r#""type":"dev.heartline.forgotten.v1","subject":"18446744073709551615","time":"2026-11-20T04:46:40.118Z","#,
            r#""datacontenttype":"application/json","partitionkey":"18446744073709551615","#,
        );
        let data = r#""data":{"mid":"18446744073709551615","cause":"delete","items":[{"kind":1,"oid":"100"}],"#;
        let golden = format!("{attributes}{data}\"at\":1795150000118}}}}");
        assert_eq!(forgotten.event(None, ContentTexts::NONE, &Source::of("eu-1")).to_json(), golden);
        (forgotten.cause, forgotten.items) = (ForgottenCause::Erase, Vec::new());
        let data = r#""data":{"mid":"18446744073709551615","cause":"erase","at":1795150000118}}"#;
        assert_eq!(
            forgotten.event(None, ContentTexts::NONE, &Source::of("eu-1")).to_json(),
            format!("{attributes}{data}")
        );
    }
}
