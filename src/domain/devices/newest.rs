//! The newest pushed version of each content, so that no older one is pushed after it.

use std::hash::{BuildHasher, RandomState};

use parking_lot::{Mutex, MutexGuard};

use model::ids::{Content, UserId};
use model::version::Version;

/// The number of locks. One is held while a change is put into inboxes, so that no other change of the user overtakes
/// it.
const STRIPES: usize = 64;
/// Contents that one lock remembers, of 16 bytes each.
const SLOTS: usize = 256;

/// The last pushed version of recent contents.
///
/// Changes of one gateway come in order, but those of two gateways do not: a message may arrive after a newer one of
/// another gateway, or after a commit of this one. Bounded: contents share slots, and each slot keeps the content
/// that was pushed last. A content that lost its slot may be pushed out of order once.
pub struct Newest {
    stripes: Vec<Mutex<[Entry; SLOTS]>>,
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
    slots: MutexGuard<'a, [Entry; SLOTS]>,
    hasher: &'a RandomState,
    user: UserId,
}

impl Default for Newest {
    fn default() -> Self {
        let stripes = (0..STRIPES).map(|_| Mutex::new([Entry::default(); SLOTS])).collect();
        Newest { stripes, hasher: RandomState::new() }
    }
}

impl Newest {
    pub fn lock_user(&self, user: UserId) -> NewestGuard<'_> {
        let stripe = self.hasher.hash_one(user) as usize % STRIPES;
        let slots = self.stripes[stripe].lock();
        NewestGuard { slots, hasher: &self.hasher, user }
    }
}

impl NewestGuard<'_> {
    /// Whether this version is newer than the last known push of the content. If so, it counts as pushed now.
    pub fn passes(&mut self, content: Content, version: Version) -> bool {
        let newer = self.pushed(Some(content)).max(self.pushed(None)) < version;
        if newer {
            self.set_pushed(Some(content), version);
        }
        newer
    }

    /// A clear up to this version is pushed now.
    pub fn cleared(&mut self, version: Version) {
        self.set_pushed(None, version.max(self.pushed(None)));
    }

    fn pushed(&self, content: Option<Content>) -> Version {
        let key = self.key(content);
        let known = self.slots[key as usize % SLOTS];
        if known.key == key { known.version } else { Version::NONE }
    }

    fn set_pushed(&mut self, content: Option<Content>, version: Version) {
        let key = self.key(content);
        self.slots[key as usize % SLOTS] = Entry { key, version };
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
