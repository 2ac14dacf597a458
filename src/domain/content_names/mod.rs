//! Contents that are named by texts: the texts are stored before the first ack that needs them, and told everywhere.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use lru::LruCache;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use model::content_name::{ContentIds, ContentName, ContentTexts};
use model::ids::Content;
use storage::content_names::{ContentNames, KEPT_AGAIN_AFTER};
use storage::store_error::StoreError;

/// Texts that are remembered, some 200 bytes each.
const REMEMBERED_MAX: usize = 131_072;
/// Parts of the memory, so that threads seldom wait for each other.
const PARTS: usize = 16;
/// A number without a text is asked for again after this time.
const UNKNOWN_FOR: Duration = Duration::from_secs(10);
/// The pause before a store that did not answer is asked again.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The store of the texts did not answer.
#[derive(Debug, thiserror::Error)]
#[error("names of contents unavailable: {}", .0.cause())]
pub struct ContentNamesUnavailable(#[from] pub StoreError);

/// The texts of a gateway's contents. Cheap to clone.
#[derive(Clone)]
pub struct NamedContents {
    store: Arc<dyn ContentNames>,
    remembered: Arc<[Mutex<LruCache<u64, Remembered>>]>,
}

/// The standing of a name, before something is stored about its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its text is stored, and stays there long enough.
    Kept,
    /// Its number belongs to another text.
    Taken,
    /// It has to be [kept](NamedContents::keep) first.
    Unknown,
}

/// The text that a number has.
#[derive(Clone)]
struct Remembered {
    /// `None`: no text has the number.
    name: Option<ContentName>,
    /// When this process kept it last; `None`: it has only read it.
    kept: Option<Instant>,
    read: Instant,
}

impl NamedContents {
    pub fn new(store: Arc<dyn ContentNames>) -> Self {
        let of_part = NonZeroUsize::new(REMEMBERED_MAX / PARTS).expect("not zero");
        let remembered = (0..PARTS).map(|_| Mutex::new(LruCache::new(of_part))).collect();
        NamedContents { store, remembered }
    }

    pub fn standing(&self, name: &ContentName) -> Standing {
        let oid = name.oid();
        let mut part = self.part(oid).lock();
        match part.get(&oid) {
            Some(Remembered { name: Some(known), kept: Some(kept), .. }) if kept.elapsed() < KEPT_AGAIN_AFTER => {
                match known == name {
                    true => Standing::Kept,
                    false => Standing::Taken,
                }
            }
            _ => Standing::Unknown,
        }
    }

    /// Stores texts, and learns which numbers belong to others.
    pub async fn keep(&self, mut names: Vec<ContentName>) -> Result<(), ContentNamesUnavailable> {
        names.sort_unstable();
        names.dedup();
        let began = Instant::now();
        let kept = self.store.keep(names.clone()).await?;
        for (name, kept) in names.iter().zip(kept) {
            self.remember(name.oid(), Remembered { name: Some(kept), kept: Some(began), read: began });
        }
        Ok(())
    }

    /// Keeps those of the names whose standing is unknown. Returns the texts that have their numbers, in the order given.
    pub async fn kept(&self, names: Vec<ContentName>) -> Result<Vec<ContentName>, ContentNamesUnavailable> {
        self.require(&names).await?;
        let of_number = |name: ContentName| self.known(name.oid()).flatten().unwrap_or(name);
        Ok(names.into_iter().map(of_number).collect())
    }

    /// Keeps those of the names whose standing is unknown. Returns the indexes of names whose numbers belong to others.
    pub async fn require(&self, names: &[ContentName]) -> Result<Vec<u32>, ContentNamesUnavailable> {
        let unknown: Vec<_> = names.iter().filter(|name| self.standing(name) == Standing::Unknown).cloned().collect();
        if !unknown.is_empty() {
            self.keep(unknown).await?;
        }
        Ok(self.taken(names))
    }

    /// The indexes of names whose numbers belong to others, as far as that is remembered.
    pub fn taken(&self, names: &[ContentName]) -> Vec<u32> {
        let taken = names.iter().zip(0..).filter(|(name, _)| self.standing(name) == Standing::Taken);
        taken.map(|(_, index)| index).collect()
    }

    /// Keeps texts, for as long as it takes.
    pub fn keep_patiently(&self, names: Vec<ContentName>) -> BoxFuture<'static, ()> {
        let own = self.clone();
        Box::pin(async move {
            while let Err(error) = own.keep(names.clone()).await {
                tracing::debug!(%error, "trying again");
                sleep(RETRY_PAUSE).await;
            }
        })
    }

    /// The texts, if all of them are remembered.
    pub fn remembered(&self, contents: impl Iterator<Item = Content>) -> Option<ContentTexts> {
        let mut texts = Vec::new();
        for Content { oid, .. } in contents {
            let known = self.known(oid)?;
            texts.extend(known.map(|name| (oid, name)));
        }
        Some(texts.into_iter().collect())
    }

    /// The texts of these contents. One that has none is left out.
    pub async fn texts(
        &self,
        contents: impl IntoIterator<Item = Content>,
    ) -> Result<ContentTexts, ContentNamesUnavailable> {
        let (mut texts, mut unknown) = (Vec::new(), Vec::new());
        for Content { oid, .. } in contents {
            match self.known(oid) {
                Some(known) => texts.extend(known.map(|name| (oid, name))),
                None => unknown.push(oid),
            }
        }
        if !unknown.is_empty() {
            unknown.sort_unstable();
            unknown.dedup();
            let read = Instant::now();
            let found = self.store.texts(unknown.clone()).await?;
            for (oid, name) in unknown.into_iter().zip(found) {
                self.remember(oid, Remembered { name: name.clone(), kept: None, read });
                texts.extend(name.map(|name| (oid, name)));
            }
        }
        Ok(texts.into_iter().collect())
    }

    /// The same, for as long as it takes.
    pub fn texts_patiently(&self, contents: Vec<Content>) -> BoxFuture<'static, ContentTexts> {
        let own = self.clone();
        Box::pin(async move {
            loop {
                match own.texts(contents.iter().copied()).await {
                    Ok(texts) => return texts,
                    Err(error) => tracing::debug!(%error, "trying again"),
                }
                sleep(RETRY_PAUSE).await;
            }
        })
    }

    /// The text of a number, as far as that is remembered.
    fn known(&self, oid: u64) -> Option<Option<ContentName>> {
        let mut part = self.part(oid).lock();
        let Remembered { name, read, .. } = part.get(&oid)?;
        (name.is_some() || read.elapsed() < UNKNOWN_FOR).then(|| name.clone())
    }

    fn remember(&self, oid: u64, newest: Remembered) {
        let mut part = self.part(oid).lock();
        let kept = newest.kept.or_else(|| part.peek(&oid).and_then(|known| known.kept));
        part.put(oid, Remembered { kept, ..newest });
    }

    fn part(&self, oid: u64) -> &Mutex<LruCache<u64, Remembered>> {
        &self.remembered[oid as usize % PARTS]
    }
}

/// How contents are named where these are their names. `None`: contents are numbers.
pub fn ids_of(names: Option<&NamedContents>) -> ContentIds {
    if names.is_some() { ContentIds::Any } else { ContentIds::Number }
}

/// The texts of an answer's contents. `None`: contents are numbers.
pub async fn texts_of(
    names: Option<&NamedContents>,
    contents: impl IntoIterator<Item = Content>,
) -> Result<ContentTexts, ContentNamesUnavailable> {
    match names {
        Some(names) => names.texts(contents).await,
        None => Ok(ContentTexts::default()),
    }
}

#[cfg(test)]
mod tests;
