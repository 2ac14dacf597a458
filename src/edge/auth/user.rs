//! A user whose token is good.

use super::token::Subject;
use model::ids::UserId;
use model::user_name::{ToldUser, UserName};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    /// Where users are named by texts.
    pub name: Option<UserName>,
}

impl User {
    pub fn told(&self) -> ToldUser<'_> {
        ToldUser { id: self.id, name: self.name.as_ref() }
    }

    /// The number, unless the name has none yet.
    pub fn number(&self) -> Option<UserId> {
        let has_none = self.name.as_ref().is_some_and(|name| name.stand_in() == self.id);
        (!has_none).then_some(self.id)
    }

    /// Whether a token is one of this user.
    pub fn is(&self, subject: &Subject) -> bool {
        match (subject, &self.name) {
            (Subject::Number(number), None) => *number == self.id,
            (Subject::Name(name), Some(own)) => name == own,
            (Subject::Number(_), Some(_)) | (Subject::Name(_), None) => false,
        }
    }
}
