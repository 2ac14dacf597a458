//! A hash table of numbers whose keys are kept elsewhere.

use hashbrown::HashTable;

/// Each number has a tag, the hash of its key. Different keys may have the same tag, so the caller compares the keys.
///
/// The tag stands beside the number, so that the key, which is in another line of memory, is read only if the tags are
/// equal, and not at all when the table grows.
#[derive(Default)]
pub struct Index(HashTable<Entry>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    tag: u32,
    number: u32,
}

impl Entry {
    /// The table wants different bits at both ends.
    fn hash(&self) -> u64 {
        u64::from(self.tag).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
    }
}

impl Index {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The numbers of this tag.
    pub fn of(&self, tag: u32) -> impl Iterator<Item = u32> {
        let hash = Entry { tag, number: 0 }.hash();
        self.0.iter_hash(hash).filter(move |entry| entry.tag == tag).map(|entry| entry.number)
    }

    /// The first number of this tag, or `u32::MAX`.
    pub fn peek(&self, tag: u32) -> u32 {
        let hash = Entry { tag, number: 0 }.hash();
        self.0.find(hash, |entry| entry.tag == tag).map_or(u32::MAX, |entry| entry.number)
    }

    pub fn insert(&mut self, tag: u32, number: u32) {
        let entry = Entry { tag, number };
        self.0.insert_unique(entry.hash(), entry, Entry::hash);
    }

    /// In place of `before`, which must be there.
    pub fn replace(&mut self, tag: u32, before: u32, number: u32) {
        let before = Entry { tag, number: before };
        self.0.find_mut(before.hash(), |entry| *entry == before).expect("a number that was inserted").number = number;
    }

    /// It must be there.
    pub fn remove(&mut self, tag: u32, number: u32) {
        let gone = Entry { tag, number };
        self.0.find_entry(gone.hash(), |entry| *entry == gone).expect("a number that was inserted").remove();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Few tags, so that they share slots, also around the end of the table.
        #[test]
        fn an_index_holds_the_inserted_and_not_removed_entries(steps in prop::collection::vec((0..24_u32, 0..8_u32), 1..300)) {
            let (mut index, mut model) = (Index::default(), BTreeSet::new());
            for (tag, number) in steps {
                let tag = tag.wrapping_sub(12);
                if model.remove(&(tag, number)) {
                    if number == 0 {
                        index.replace(tag, number, number + 100);
                        index.replace(tag, number + 100, number);
                    }
                    index.remove(tag, number);
                } else {
                    model.insert((tag, number));
                    index.insert(tag, number);
                }
                prop_assert_eq!(index.len(), model.len());
                for tag in (0..24_u32).map(|tag| tag.wrapping_sub(12)) {
                    let held: BTreeSet<_> = index.of(tag).map(|number| (tag, number)).collect();
                    let wanted: BTreeSet<_> = model.range((tag, 0)..=(tag, u32::MAX)).copied().collect();
                    prop_assert_eq!(held, wanted);
                }
            }
        }
    }
}
