//! What was told last of a content, or of all of a user's, so that nothing older is told after it.

use std::hash::{BuildHasher, RandomState};

use parking_lot::{Mutex, MutexGuard};

use crate::model::ids::{Content, UserId};
use crate::model::version::Version;

/// Locks. One is held while a change is put into inboxes, so that no other change of the user overtakes it.
const STRIPES: usize = 64;
/// Contents that one lock remembers, of 16 bytes each.
const PLACES: usize = 256;

/// The version that was told last of each content of late.
///
/// Commits come in their order from one gateway, but not from two: a message may arrive behind a newer one of another
/// gateway, or behind a commit of this one. Bounded: a content shares its place with others, and the one that came last
/// has it; what was forgotten so is told once more out of order.
pub struct Newest {
    stripes: Vec<Mutex<[Entry; PLACES]>>,
    hasher: RandomState,
}

/// One content of one user, or a clear of all of them, by the hash of both.
#[derive(Clone, Copy, Default)]
struct Entry {
    who: u64,
    version: Version,
}

/// Holds back all other changes of the same user.
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
    /// Whether this version is newer than what is known to have been told of the content; it is told now.
    pub fn passes(&mut self, content: Content, version: Version) -> bool {
        let newer = self.told(Some(content)).max(self.told(None)) < version;
        if newer {
            self.tell(Some(content), version);
        }
        newer
    }

    /// Everything up to this version is told to be gone.
    pub fn cleared(&mut self, version: Version) {
        self.tell(None, version.max(self.told(None)));
    }

    fn told(&self, content: Option<Content>) -> Version {
        let who = self.who(content);
        let told = self.places[who as usize % PLACES];
        if told.who == who { told.version } else { Version::NONE }
    }

    fn tell(&mut self, content: Option<Content>, version: Version) {
        let who = self.who(content);
        self.places[who as usize % PLACES] = Entry { who, version };
    }

    fn who(&self, content: Option<Content>) -> u64 {
        self.hasher.hash_one((self.user, content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: Content = Content { kind: 1, oid: 100 };

    #[test]
    fn nothing_passes_that_is_not_newer() {
        let newest = Newest::default();
        let passes = |user, content, version| newest.lock_user(UserId(user)).passes(content, Version(version));
        assert!(passes(1, CONTENT, 5));
        assert!(!passes(1, CONTENT, 5) && !passes(1, CONTENT, 4));
        assert!(passes(1, CONTENT, 6));
        assert!(passes(2, CONTENT, 1), "another user");
        assert!(passes(1, Content { kind: 2, oid: 100 }, 1), "another content");
    }

    #[test]
    fn nothing_passes_that_was_cleared() {
        let newest = Newest::default();
        [9, 5].into_iter().for_each(|version| newest.lock_user(UserId(1)).cleared(Version(version)));
        assert!(!newest.lock_user(UserId(1)).passes(CONTENT, Version(9)));
        assert!(newest.lock_user(UserId(1)).passes(CONTENT, Version(10)));
        assert!(newest.lock_user(UserId(2)).passes(CONTENT, Version(1)));
    }
}
