//! Requests of operators about revocations, and their answers.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::body::object;
use super::encode::text_of;
use super::fault::Fault;
use super::number::{Id, Millis};
use super::text::Text;
use crate::protocol::frame::DecodeError;
use crate::protocol::whom::Whom;
use model::ids::UserId;
use model::revocation::{Revocation, Revoked, TOKEN_ID_BYTES_MAX};
use model::user_name::UserName;

/// The user or the token that a call revokes.
#[derive(Clone, Debug, PartialEq)]
pub enum NamedRevoked {
    User(Whom),
    /// The token of this id.
    Token(Arc<str>),
}

/// The body of `POST /v1/revoke`.
#[derive(Debug, PartialEq)]
pub struct RevokeBody {
    pub what: NamedRevoked,
    /// Milliseconds since 1970.
    pub until: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RevokeBodyShape {
    mid: Option<Id>,
    sub: Option<Text<{ UserName::BYTES_MAX }>>,
    jti: Option<Text<TOKEN_ID_BYTES_MAX>>,
    until: Option<Millis>,
}

#[derive(Serialize)]
struct RevocationsAnswer<'a> {
    revocations: Vec<RevocationView<'a>>,
}

#[derive(Serialize)]
struct RevocationView<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    mid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jti: Option<&'a str>,
    at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
}

pub fn decode_revoke_body(body: &[u8]) -> Result<RevokeBody, DecodeError> {
    let RevokeBodyShape { mid, sub, jti, until } = object(body)?;
    let user = Whom::of(mid, sub.as_ref().map(|sub| &*sub.0)).map_err(answer)?;
    let what = revoked(user, jti.map(|jti| jti.0)).map_err(answer)?;
    Ok(RevokeBody { what, until: until.map(|until| until.0) })
}

/// `DELETE /v1/revoke?mid=`, `?sub=` or `?jti=`.
pub fn decode_revoked(mid: Option<&str>, sub: Option<&str>, jti: Option<String>) -> Result<NamedRevoked, DecodeError> {
    let mid = mid.map(|mid| Id::from_text(mid).ok_or_else(|| answer(Fault::invalid("mid", Id::complaint()))));
    let user = Whom::of(mid.transpose()?, sub).map_err(answer)?;
    revoked(user, jti).map_err(answer)
}

/// To `GET /v1/revoke`. `names`: of the users, where users have names.
pub fn encode_revocations(revocations: &[Revocation], names: &HashMap<UserId, UserName>) -> String {
    let revocations = revocations.iter().map(|revocation| RevocationView::of(revocation, names)).collect();
    text_of(&RevocationsAnswer { revocations })
}

impl<'a> RevocationView<'a> {
    fn of(revocation: &'a Revocation, names: &'a HashMap<UserId, UserName>) -> Self {
        let (mid, sub, jti) = match &revocation.what {
            Revoked::User(user) => (Some(user.0.to_string()), names.get(user).map(UserName::as_str), None),
            Revoked::Token(id) => (None, None, Some(&**id)),
        };
        RevocationView { mid, sub, jti, at: revocation.at_ms, until: revocation.until_ms }
    }
}

fn revoked(user: Option<Whom>, jti: Option<String>) -> Result<NamedRevoked, Fault> {
    match (user, jti) {
        (Some(user), None) => Ok(NamedRevoked::User(user)),
        (None, Some(jti)) if !jti.is_empty() && jti.len() <= TOKEN_ID_BYTES_MAX => Ok(NamedRevoked::Token(jti.into())),
        (None, Some(_)) => Err(Fault::invalid("jti", format!("must be from 1 to {TOKEN_ID_BYTES_MAX} bytes long"))),
        (None, None) => Err(Fault::invalid("mid", "is missing; give mid or jti")),
        (Some(_), Some(_)) => Err(Fault::invalid("jti", "must not be given together with mid")),
    }
}

fn answer(fault: Fault) -> DecodeError {
    fault.malformed(None, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revocation_names_a_user_or_a_token_and_perhaps_an_end() {
        let decoded = |body: &str| decode_revoke_body(body.as_bytes()).map_err(|malformed| malformed.message);
        let user = RevokeBody { what: NamedRevoked::User(Whom::Mid(UserId(42))), until: None };
        assert_eq!(decoded(r#"{"mid":"42"}"#), Ok(user));
        let token = RevokeBody { what: NamedRevoked::Token("a".into()), until: Some(5) };
        assert_eq!(decoded(r#"{"jti":"a","until":5}"#), Ok(token));
        for (body, message) in [
            ("{}", "mid: is missing; give mid or jti"),
            (r#"{"mid":"42","jti":"a"}"#, "jti: must not be given together with mid"),
            (r#"{"jti":""}"#, "jti: must be from 1 to 256 bytes long"),
            (r#"{"jti":5}"#, "jti: must be a string"),
            (r#"{"mid":"x"}"#, "mid: must be a decimal number of 64 bits"),
            (r#"{"jti":"a","why":"stolen"}"#, "body: unknown field why; known: mid, sub, jti, until"),
        ] {
            assert_eq!(decoded(body), Err(message.to_owned()), "{body}");
        }
        assert!(decoded(&format!(r#"{{"jti":"{}"}}"#, "j".repeat(257))).is_err());
        assert!(decoded(r#"{"mid":"42","until":-1}"#).is_err() && decoded("").is_err());
    }

    #[test]
    fn revocations_are_listed_with_the_fields_they_were_made_with() {
        let user = Revocation { what: Revoked::User(UserId(u64::MAX)), at_ms: 1, until_ms: None };
        let token = Revocation { what: Revoked::Token("\"a".into()), at_ms: 2, until_ms: Some(3) };
        let text = r#"{"revocations":[{"mid":"18446744073709551615","at":1},{"jti":"\"a","at":2,"until":3}]}"#;
        assert_eq!(encode_revocations(&[user, token], &HashMap::new()), text);
    }
}
