//! Users who are named by texts: from a name to the number that stands for it everywhere inside, and back.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lru::LruCache;
use parking_lot::Mutex;
use tokio::time::Instant;

use model::ids::UserId;
use model::user_name::UserName;
use storage::names::Names;
pub use storage::names::{NameText, Numbered};
use storage::store_error::StoreError;

/// Names that are remembered, some 250 bytes each.
const REMEMBERED_MAX: NonZeroUsize = NonZeroUsize::new(65_536).expect("not zero");
/// After this time a name is looked up again: another gateway may have dropped its text, and not reached this one.
const REMEMBERED_FOR: Duration = Duration::from_secs(10);

/// Names of one call that are written at a time.
const WRITES_MAX: usize = 64;

/// The store of names did not answer.
#[derive(Debug, thiserror::Error)]
#[error("names of users unavailable: {}", .0.cause())]
pub struct NamesUnavailable(#[from] pub StoreError);

/// The names of a gateway. Cheap to clone.
#[derive(Clone)]
pub struct UserNames {
    store: Arc<dyn Names>,
    remembered: Arc<Mutex<Remembered>>,
}

struct Remembered {
    by_name: LruCache<UserName, (UserId, Instant)>,
    by_number: LruCache<UserId, (UserName, Instant)>,
}

impl UserNames {
    pub fn new(store: Arc<dyn Names>) -> Self {
        let remembered =
            Remembered { by_name: LruCache::new(REMEMBERED_MAX), by_number: LruCache::new(REMEMBERED_MAX) };
        UserNames { store, remembered: Arc::new(Mutex::new(remembered)) }
    }

    /// The number of a name. One that has none gets it, and a text that was dropped is written again.
    pub async fn number(&self, name: &UserName) -> Result<UserId, NamesUnavailable> {
        match self.find(name).await? {
            Some(Numbered { user, is_dropped: false }) => Ok(user),
            _ => self.write(name.clone()).await,
        }
    }

    /// The same for many, in their order.
    pub async fn number_all(&self, names: &[UserName]) -> Result<Vec<UserId>, NamesUnavailable> {
        let found = self.find_all(names).await?;
        let numbers = names.iter().cloned().zip(found).map(|(name, found)| async move {
            match found {
                Some(Numbered { user, is_dropped: false }) => Ok(user),
                _ => self.write(name).await,
            }
        });
        stream::iter(numbers).buffered(WRITES_MAX).try_collect().await
    }

    /// Has the store write the name, and its number if it has none.
    async fn write(&self, name: UserName) -> Result<UserId, NamesUnavailable> {
        let user = self.store.number(name.clone()).await?;
        self.remembered.lock().put(user, &name);
        Ok(user)
    }

    /// The number of a name; `None`: it has none, and gets none. A text that was dropped stays so.
    pub async fn find(&self, name: &UserName) -> Result<Option<Numbered>, NamesUnavailable> {
        Ok(self.find_all(std::slice::from_ref(name)).await?.pop().flatten())
    }

    /// The same for many, in their order.
    pub async fn find_all(&self, names: &[UserName]) -> Result<Vec<Option<Numbered>>, NamesUnavailable> {
        let remembered = |user| Numbered { user, is_dropped: false };
        let mut found: Vec<_> = {
            let mut memory = self.remembered.lock();
            names.iter().map(|name| memory.number(name).map(remembered)).collect()
        };
        let unknown: Vec<_> = names.iter().zip(&mut found).filter(|(_, found)| found.is_none()).collect();
        if unknown.is_empty() {
            return Ok(found);
        }
        let stored = self.store.numbers(unknown.iter().map(|(name, _)| (*name).clone()).collect()).await?;
        let mut memory = self.remembered.lock();
        for ((name, found), stored) in unknown.into_iter().zip(stored) {
            *found = stored;
            if let Some(Numbered { user, is_dropped: false }) = stored {
                memory.put(user, name);
            }
        }
        drop(memory);
        Ok(found)
    }

    /// The text of a number; `None`: no name has it.
    pub async fn text(&self, user: UserId) -> Result<Option<NameText>, NamesUnavailable> {
        if let Some(name) = self.remembered.lock().name(user) {
            return Ok(Some(NameText::Known(name)));
        }
        Ok(self.store.texts(vec![user]).await?.pop().flatten())
    }

    /// The same for many, in their order.
    pub async fn texts(&self, users: &[UserId]) -> Result<Vec<Option<NameText>>, NamesUnavailable> {
        match users {
            [] => Ok(Vec::new()),
            users => Ok(self.store.texts(users.to_vec()).await?),
        }
    }

    /// The names of these users. A user without a known name is left out.
    pub async fn names_of(
        &self,
        users: impl IntoIterator<Item = UserId>,
    ) -> Result<HashMap<UserId, UserName>, NamesUnavailable> {
        let (mut names, mut unknown) = (HashMap::new(), Vec::new());
        {
            let mut remembered = self.remembered.lock();
            for user in users {
                match remembered.name(user) {
                    Some(name) => drop(names.insert(user, name)),
                    None => unknown.push(user),
                }
            }
        }
        if unknown.is_empty() {
            return Ok(names);
        }
        unknown.sort_unstable();
        unknown.dedup();
        let texts = self.store.texts(unknown.clone()).await?;
        let mut remembered = self.remembered.lock();
        for (user, text) in unknown.into_iter().zip(texts) {
            if let Some(NameText::Known(name)) = text {
                remembered.put(user, &name);
                names.insert(user, name);
            }
        }
        Ok(names)
    }

    /// Drops the text of the user's name, after an erasure.
    pub async fn drop_text(&self, user: UserId) -> Result<(), NamesUnavailable> {
        self.forget(user);
        self.store.drop_text(user).await?;
        // It may have been remembered meanwhile.
        self.forget(user);
        Ok(())
    }

    /// Looks the name up again the next time: its text may have been dropped.
    pub fn forget(&self, user: UserId) {
        self.remembered.lock().forget(user);
    }
}

impl Remembered {
    fn number(&mut self, name: &UserName) -> Option<UserId> {
        let (user, since) = self.by_name.get(name)?;
        (since.elapsed() < REMEMBERED_FOR).then_some(*user)
    }

    fn name(&mut self, user: UserId) -> Option<UserName> {
        let (name, since) = self.by_number.get(&user)?;
        (since.elapsed() < REMEMBERED_FOR).then(|| name.clone())
    }

    fn put(&mut self, user: UserId, name: &UserName) {
        let now = Instant::now();
        self.by_name.put(name.clone(), (user, now));
        self.by_number.put(user, (name.clone(), now));
    }

    fn forget(&mut self, user: UserId) {
        if let Some((name, _)) = self.by_number.pop(&user) {
            self.by_name.pop(&name);
        }
    }
}

#[cfg(test)]
mod tests;
