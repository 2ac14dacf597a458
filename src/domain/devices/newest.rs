//! The newest pushed version of each content, so that no older one is pushed after it.

use std::hash::{BuildHasher, RandomState};

use parking_lot::{Mutex, MutexGuard};

use crate::model::ids::{Content, UserId};
use crate::model::version::Version;

/// The number of locks. One is held while a change is put into inboxes, so that no other change of the user overtakes
/// it.
const STRIPES: usize = 64;
/// Contents that one lock remembers, of 16 bytes each.
const PLACES: usize = 256;

/// The last pushed version of recent contents.
///
/// Changes of one gateway come in order, but those of two gateways do not: a message may arrive behind a newer one of
/// another gateway, or behind a commit of this one. Bounded: contents share places, and each place keeps the content
/// that was pushed last. A content that lost its place may be pushed out of order once.
pub struct Newest {
    stripes: Vec<Mutex<[Entry; PLACES]>>,
    hasher: RandomState,
}

/// One content of one user, or a clear of all of them, by the hash of both.
#[derive(Clone, Copy, Default)]
struct Entry {
    key: u64,
    version: Version,
}

/// Blocks all other changes of the same user while it is held.
pub struct NewestGuard<'a> {
    places: MutexGuard<'a, [Entry; PLACES]>,
    hasher: &'a RandomState,
    user: UserId,
}

impl Default for Newest {
    fn default() -> Self {
        let stripes = (0..STRIPES).map(|_| Mutex::new([Entry::default(); PLACES])).collect();
        Newest { stripes, hasher: RandomState::new() }
    }
}

impl Newest {
    pub fn lock_user(&self, user: UserId) -> NewestGuard<'_> {
        let stripe = self.hasher.hash_one(user) as usize % STRIPES;
        let places = self.stripes[stripe].lock();
        NewestGuard { places, hasher: &self.hasher, user }
    }
}

impl NewestGuard<'_> {
    /// Whether this version is newer than the last known push of the content. If so, it counts as pushed now.
    pub fn passes(&mut self, content: Content, version: Version) -> bool {
        let newer = self.told(Some(content)).max(self.told(None)) < version;
        if newer {
            self.tell(Some(content), version);
        }
        newer
    }

    /// A clear up to this version is pushed now.
    pub fn cleared(&mut self, version: Version) {
        self.tell(None, version.max(self.told(None)));
    }

    fn told(&self, content: Option<Content>) -> Version {
        let key = self.key(content);
        let told = self.places[key as usize % PLACES];
        if told.key == key { told.version } else { Version::NONE }
    }

    fn tell(&mut self, content: Option<Content>, version: Version) {
        let key = self.key(content);
        self.places[key as usize % PLACES] = Entry { key, version };
    }

    fn key(&self, content: Option<Content>) -> u64 {
        self.hasher.hash_one((self.user, content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: Content = Content { kind: 1, oid: 100 };

    #[test]
    fn only_a_newer_version_of_a_content_passes() {
        let newest = Newest::default();
        let passes = |user, content, version| newest.lock_user(UserId(user)).passes(content, Version(version));
        assert!(passes(1, CONTENT, 5));
        assert!(!passes(1, CONTENT, 5) && !passes(1, CONTENT, 4));
        assert!(passes(1, CONTENT, 6));
        assert!(passes(2, CONTENT, 1), "another user");
        assert!(passes(1, Content { kind: 2, oid: 100 }, 1), "another content");
    }

    #[test]
    fn a_version_up_to_the_last_clear_does_not_pass() {
        let newest = Newest::default();
        [9, 5].into_iter().for_each(|version| newest.lock_user(UserId(1)).cleared(Version(version)));
        assert!(!newest.lock_user(UserId(1)).passes(CONTENT, Version(9)));
        assert!(newest.lock_user(UserId(1)).passes(CONTENT, Version(10)));
        assert!(newest.lock_user(UserId(2)).passes(CONTENT, Version(1)));
    }
}
