//! Keys of counters, in which a user is a number inside and may be a name outside.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::called_users::CalledUsers;
use crate::http::problem::Problem;
use domain::counters::Counter;
use model::counters::{CounterKey, KeyField};
use model::ids::UserId;
use model::user_name::{ToldUser, UserName};

/// The part of a counter's keys that is a user with a name.
pub struct CounterUsers<'a> {
    /// `None`: the keys have no user, or users have no names.
    index: Option<usize>,
    called_users: &'a CalledUsers,
}

impl<'a> CounterUsers<'a> {
    /// The keys of a direct counter are texts of its callers.
    pub fn of(counter: &Counter, called_users: &'a CalledUsers) -> Self {
        let has_users = called_users.0.is_some() && matches!(counter, Counter::Derived(_));
        let index = counter.parts().iter().position(|part| part == KeyField::Mid.word());
        CounterUsers { index: index.filter(|_| has_users), called_users }
    }

    /// Keys as callers give them, as they are counted. A user without a number has counted nothing.
    pub async fn counted(&self, keys: Vec<CounterKey>) -> Result<Vec<CounterKey>, Problem> {
        let (Some(index), Some(names)) = (self.index, &self.called_users.0) else { return Ok(keys) };
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
        let Some(index) = self.index else { return Ok(keys.cloned().collect()) };
        let user_in = |key: &CounterKey| key.parts().nth(index).and_then(|part| part.parse().ok()).map(UserId);
        let names = self.called_users.names_of(keys.clone().filter_map(user_in)).await?;
        let told = keys.map(|key| match user_in(key) {
            Some(user) => with_part(key, index, &text_of(user, &names)),
            None => key.clone(),
        });
        Ok(told.collect())
    }
}

fn text_of(id: UserId, names: &HashMap<UserId, UserName>) -> String {
    ToldUser { id, name: names.get(&id) }.text()
}

fn with_part(key: &CounterKey, index: usize, text: &str) -> CounterKey {
    let parts: Vec<Cow<'_, str>> = key.parts().collect();
    let parts = parts.iter().enumerate().map(|(at, part)| if at == index { text } else { part });
    CounterKey::of(parts).expect("a user is no longer than a part may be")
}
