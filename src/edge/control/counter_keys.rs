//! Keys of counters, in which users and contents are numbers inside and may be names outside.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::called_users::CalledUsers;
use crate::http::problem::Problem;
use domain::content_names::{NamedContents, texts_of};
use domain::counters::Counter;
use model::content_name::ContentName;
use model::counters::{CounterKey, KeyField};
use model::ids::{Content, UserId};
use model::user_name::{ToldUser, UserName};

/// The names of users and contents, where they have some.
#[derive(Clone)]
pub struct KeyNames {
    pub called_users: CalledUsers,
    /// `None`: contents are named by numbers.
    pub contents: Option<NamedContents>,
}

/// The parts of a counter's keys that have names.
pub struct NamedParts<'a> {
    /// `None`: the keys have no user, or users have no names.
    user: Option<usize>,
    /// The same of contents.
    content: Option<usize>,
    names: &'a KeyNames,
}

impl KeyNames {
    /// The keys of a direct counter are texts of its callers.
    pub fn of(&self, counter: &Counter) -> NamedParts<'_> {
        let is_derived = matches!(counter, Counter::Derived(_));
        let index = |field: KeyField| counter.parts().iter().position(|part| part == field.word());
        NamedParts {
            user: index(KeyField::Mid).filter(|_| is_derived && self.called_users.0.is_some()),
            content: index(KeyField::Oid).filter(|_| is_derived && self.contents.is_some()),
            names: self,
        }
    }
}

impl NamedParts<'_> {
    /// Keys as callers give them, as they are counted. A user without a number has counted nothing.
    pub async fn counted(&self, keys: Vec<CounterKey>) -> Result<Vec<CounterKey>, Problem> {
        let keys = match self.content {
            Some(index) => keys.iter().map(|key| by_number(key, index)).collect::<Result<_, _>>()?,
            None => keys,
        };
        match self.user {
            Some(index) => self.with_numbers(index, keys).await,
            None => Ok(keys),
        }
    }

    async fn with_numbers(&self, index: usize, keys: Vec<CounterKey>) -> Result<Vec<CounterKey>, Problem> {
        let Some(names) = &self.names.called_users.0 else { return Ok(keys) };
        let name_in = |key: &CounterKey| key.parts().nth(index).map(|part| UserName::new(&part)).transpose();
        let given = keys.iter().map(name_in).collect::<Result<Vec<_>, _>>();
        let given = given.map_err(|complaint| Problem::invalid(format!("key[{index}]: {complaint}")))?;
        let asked: Vec<_> = given.iter().flatten().cloned().collect();
        let mut found = names.find_all(&asked).await?.into_iter();
        let numbered = keys.iter().zip(&given).map(|(key, name)| match name {
            Some(name) => {
                let number = found.next().flatten().map_or_else(|| name.stand_in(), |found| found.user);
                with_part(key, index, &number.0.to_string())
            }
            // The first parts of a key, before the user.
            None => key.clone(),
        });
        Ok(numbered.collect())
    }

    /// Keys as they are counted, as callers are told of them.
    pub async fn told(&self, keys: impl Iterator<Item = &CounterKey> + Clone) -> Result<Vec<CounterKey>, Problem> {
        let number = |key: &CounterKey, index| key.parts().nth(index).and_then(|part| part.parse().ok());
        let user_in = |key: &CounterKey| self.user.and_then(|index| number(key, index)).map(UserId);
        let oid_in = |key: &CounterKey| self.content.and_then(|index| number(key, index));
        let users = self.names.called_users.names_of(keys.clone().filter_map(user_in)).await?;
        let contents = keys.clone().filter_map(oid_in).map(|oid| Content { kind: 0, oid });
        let texts = texts_of(self.names.contents.as_ref(), contents).await?;
        let told = keys.map(|key| {
            let with_user = match self.user.zip(user_in(key)) {
                Some((index, user)) => with_part(key, index, &text_of(user, &users)),
                None => key.clone(),
            };
            match self.content.zip(oid_in(key)) {
                Some((index, oid)) => with_part(&with_user, index, &texts.told(oid).to_string()),
                None => with_user,
            }
        });
        Ok(told.collect())
    }
}

fn by_number(key: &CounterKey, index: usize) -> Result<CounterKey, Problem> {
    let Some(part) = key.parts().nth(index) else { return Ok(key.clone()) };
    let name = ContentName::new(&part).map_err(|complaint| Problem::invalid(format!("key[{index}]: {complaint}")))?;
    Ok(with_part(key, index, &name.oid().to_string()))
}

fn text_of(id: UserId, names: &HashMap<UserId, UserName>) -> String {
    ToldUser { id, name: names.get(&id) }.text()
}

fn with_part(key: &CounterKey, index: usize, text: &str) -> CounterKey {
    let parts: Vec<Cow<'_, str>> = key.parts().collect();
    let parts = parts.iter().enumerate().map(|(at, part)| if at == index { text } else { part });
    CounterKey::of(parts).expect("a name is no longer than a part may be")
}
