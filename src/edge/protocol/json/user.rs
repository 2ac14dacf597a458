//! How calls name a user, and how answers do.

use serde::Serialize;

use super::fault::Fault;
use super::number::Id;
use super::record::Shown;
use crate::auth::User;
use crate::protocol::whom::Whom;
use model::ids::UserId;
use model::user_name::UserName;

impl Whom {
    /// `mid` or `sub`; `None`: neither is given.
    pub(super) fn of(mid: Option<Id>, sub: Option<&str>) -> Result<Option<Self>, Fault> {
        match (mid, sub) {
            (Some(_), Some(_)) => Err(Fault::invalid("sub", "must not be given together with mid")),
            (Some(mid), None) => Ok(Some(Whom::Mid(UserId(mid.0)))),
            (None, Some(sub)) => {
                let name = UserName::new(sub).map_err(|complaint| Fault::invalid("sub", complaint.to_string()))?;
                Ok(Some(Whom::Sub(name)))
            }
            (None, None) => Ok(None),
        }
    }

    pub(super) fn required(mid: Option<Id>, sub: Option<&str>) -> Result<Self, Fault> {
        Self::of(mid, sub)?.ok_or_else(|| Fault::invalid("mid", "is missing"))
    }
}

/// A user without a number has a name alone.
#[derive(Serialize)]
pub(super) struct UserView<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    mid: Option<Shown<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<&'a str>,
}

impl<'a> UserView<'a> {
    pub fn of(user: &'a User) -> Self {
        UserView { mid: user.number().map(|id| Shown(id.0)), sub: user.told().sub() }
    }
}
