//! The user that a call names, by number or by name.

use std::collections::HashMap;

use crate::auth::User;
use crate::protocol::whom::Whom;
use domain::names::{NameText, NamesUnavailable, Numbered, UserNames};
use model::ids::UserId;
use model::user_name::UserName;

/// Finds the users of calls. `None`: users are named by numbers.
#[derive(Clone)]
pub struct CalledUsers(pub Option<UserNames>);

/// A call's user cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum NoUser {
    #[error("sub: users are named by mid here (auth.subjects)")]
    NumbersOnly,
    #[error("mid: is not the number of a user")]
    Unknown,
    #[error(transparent)]
    Unavailable(#[from] NamesUnavailable),
}

/// Why not all users of a call can be found.
#[derive(Debug)]
pub enum NotAll {
    /// The first user who cannot be, by the index in the call.
    One(usize, NoUser),
    Unavailable(NamesUnavailable),
}

impl From<NamesUnavailable> for NotAll {
    fn from(unavailable: NamesUnavailable) -> Self {
        NotAll::Unavailable(unavailable)
    }
}

impl CalledUsers {
    /// The user that a call changes. A name that has no number yet gets one; a text that was dropped stays so.
    pub async fn changed(&self, whom: Whom) -> Result<User, NoUser> {
        match (whom, &self.0) {
            (Whom::Mid(id), None) => Ok(User { id, name: None }),
            (Whom::Sub(_), None) => Err(NoUser::NumbersOnly),
            (Whom::Sub(name), Some(names)) => {
                let id = match names.find(&name).await? {
                    Some(found) => found.user,
                    None => names.number(&name).await?,
                };
                Ok(User { id, name: Some(name) })
            }
            (Whom::Mid(id), Some(names)) => match names.text(id).await? {
                Some(text) => Ok(known(id, text)),
                None => Err(NoUser::Unknown),
            },
        }
    }

    /// The user that a call reads. Of one that is not known nothing is found.
    pub async fn read(&self, whom: Whom) -> Result<User, NoUser> {
        match (whom, &self.0) {
            (Whom::Mid(id), None) => Ok(User { id, name: None }),
            (Whom::Sub(_), None) => Err(NoUser::NumbersOnly),
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

    /// The users that a call changes, in its order, as [`changed`](Self::changed) finds one.
    pub async fn all_changed(&self, whom: Vec<Whom>) -> Result<Vec<User>, NotAll> {
        let Some(names) = &self.0 else {
            let users = whom.into_iter().enumerate().map(|(index, whom)| match whom {
                Whom::Mid(id) => Ok(User { id, name: None }),
                Whom::Sub(_) => Err(NotAll::One(index, NoUser::NumbersOnly)),
            });
            return users.collect();
        };
        let (mut subs, mut mids) = (Vec::new(), Vec::new());
        for one in &whom {
            match one {
                Whom::Sub(name) => subs.push(name.clone()),
                Whom::Mid(id) => mids.push(*id),
            }
        }
        let (numbers, texts) = tokio::try_join!(numbers(names, &subs), names.texts(&mids))?;
        let (mut numbers, mut texts) = (numbers.into_iter(), texts.into_iter());
        let users = whom.into_iter().enumerate().map(|(index, whom)| match whom {
            Whom::Sub(name) => Ok(User { id: numbers.next().expect("one for each name"), name: Some(name) }),
            Whom::Mid(id) => match texts.next().expect("one for each number") {
                Some(text) => Ok(known(id, text)),
                None => Err(NotAll::One(index, NoUser::Unknown)),
            },
        });
        users.collect()
    }

    /// Has the texts of these users' names written again, if erasures have dropped them.
    pub async fn welcome_again(&self, users: impl Iterator<Item = &User>) -> Result<(), NamesUnavailable> {
        let Some(names) = &self.0 else { return Ok(()) };
        let given: Vec<_> = users.filter_map(|user| user.name.clone()).collect();
        names.number_all(&given).await.map(drop)
    }

    /// The user of a call, for the log; `None`: not known.
    pub async fn logged(&self, whom: Whom) -> Option<UserId> {
        match whom {
            Whom::Mid(id) => Some(id),
            Whom::Sub(name) => self.0.as_ref()?.find(&name).await.ok()?.map(|found| found.user),
        }
    }

    /// The names of these users, as far as they are known.
    pub async fn names_of(
        &self,
        users: impl Iterator<Item = UserId>,
    ) -> Result<HashMap<UserId, UserName>, NamesUnavailable> {
        match &self.0 {
            Some(names) => names.names_of(users).await,
            None => Ok(HashMap::new()),
        }
    }

    /// Drops the text of an erased user's name.
    pub async fn forget(&self, user: UserId) -> Result<(), NamesUnavailable> {
        match &self.0 {
            Some(names) => names.drop_text(user).await,
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

/// The numbers of these names, in their order. Those that have none yet get one.
async fn numbers(names: &UserNames, subs: &[UserName]) -> Result<Vec<UserId>, NamesUnavailable> {
    let found = names.find_all(subs).await?;
    let has_none = subs.iter().zip(&found).filter(|(_, found)| found.is_none());
    let new: Vec<_> = has_none.map(|(name, _)| name.clone()).collect();
    let mut given = names.number_all(&new).await?.into_iter();
    let number = |found: Option<Numbered>| match found {
        Some(Numbered { user, .. }) => user,
        None => given.next().expect("one for each new name"),
    };
    Ok(found.into_iter().map(number).collect())
}
