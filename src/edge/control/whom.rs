//! The user that a call names, by number or by name.

use std::collections::HashMap;

use crate::auth::User;
use crate::http::problem::Problem;
use crate::protocol::json::Whom;
use domain::names::{NameText, UserNames};
use model::ids::UserId;
use model::user_name::UserName;

/// Finds the users of calls. `None`: users are named by numbers.
#[derive(Clone)]
pub struct CalledUsers(pub Option<UserNames>);

impl CalledUsers {
    /// The user that a call changes. A name that has no number yet gets one; a text that was dropped stays so.
    pub async fn changed(&self, whom: Whom) -> Result<User, Problem> {
        match (whom, &self.0) {
            (Whom::Mid(id), None) => Ok(User { id, name: None }),
            (Whom::Sub(_), None) => Err(numbers_only()),
            (Whom::Sub(name), Some(names)) => {
                let id = match names.find(&name).await? {
                    Some(found) => found.user,
                    None => names.number(&name).await?,
                };
                Ok(User { id, name: Some(name) })
            }
            (Whom::Mid(id), Some(names)) => match names.text(id).await? {
                Some(text) => Ok(known(id, text)),
                None => Err(Problem::invalid("mid: is not the number of a user")),
            },
        }
    }

    /// The user that a call reads. Of one that is not known nothing is found.
    pub async fn read(&self, whom: Whom) -> Result<User, Problem> {
        match (whom, &self.0) {
            (Whom::Mid(id), None) => Ok(User { id, name: None }),
            (Whom::Sub(_), None) => Err(numbers_only()),
            (Whom::Sub(name), Some(names)) => {
                let id = names.find(&name).await?.map_or_else(|| name.stand_in(), |found| found.user);
                Ok(User { id, name: Some(name) })
            }
            (Whom::Mid(id), Some(names)) => {
                let text = names.text(id).await?;
                Ok(text.map_or(User { id, name: None }, |text| known(id, text)))
            }
        }
    }

    /// The user of a call, for the log; `None`: not known.
    pub async fn logged(&self, whom: Whom) -> Option<UserId> {
        match whom {
            Whom::Mid(id) => Some(id),
            Whom::Sub(name) => self.0.as_ref()?.find(&name).await.ok()?.map(|found| found.user),
        }
    }

    /// The names of these users, as far as they are known.
    pub async fn names_of(&self, users: impl Iterator<Item = UserId>) -> Result<HashMap<UserId, UserName>, Problem> {
        match &self.0 {
            Some(names) => Ok(names.names_of(users).await?),
            None => Ok(HashMap::new()),
        }
    }

    /// Drops the text of an erased user's name.
    pub async fn forget(&self, user: UserId) -> Result<(), Problem> {
        match &self.0 {
            Some(names) => Ok(names.drop_text(user).await?),
            None => Ok(()),
        }
    }
}

fn known(id: UserId, text: NameText) -> User {
    match text {
        NameText::Known(name) => User { id, name: Some(name) },
        NameText::Dropped => User { id, name: None },
    }
}

fn numbers_only() -> Problem {
    Problem::invalid("sub: users are named by mid here (auth.subjects)")
}
