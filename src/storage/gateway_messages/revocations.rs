//! Revocations of tokens.

use super::wire;
use model::ids::UserId;
use model::revocation::{Revocation, Revoked};

pub fn encode(revocation: &Revocation) -> wire::Revocation {
    wire::Revocation { at: revocation.at_ms, until: revocation.until_ms, ..encode_what(&revocation.what) }
}

/// Without its times.
pub fn encode_what(what: &Revoked) -> wire::Revocation {
    match what {
        Revoked::User(user) => wire::Revocation { mid: user.0, ..wire::Revocation::default() },
        Revoked::Token(id) => wire::Revocation { token: id.as_ref().to_owned(), ..wire::Revocation::default() },
    }
}

pub fn decode(sent: wire::Revocation) -> Revocation {
    let what = match sent.token.is_empty() {
        true => Revoked::User(UserId(sent.mid)),
        false => Revoked::Token(sent.token.into()),
    };
    Revocation { what, at_ms: sent.at, until_ms: sent.until }
}
