//! A hash table of numbers whose keys are kept elsewhere.

/// No number is in the slot.
const EMPTY: u64 = u64::MAX;

/// Each number has a tag, the hash of its key. Different keys may have the same tag, so the caller compares the keys.
///
/// Open addressing with linear probing, at most half full. A slot holds the tag and the number, so a look-up usually waits
/// for one line of memory; a `HashMap` waits for two.
pub struct Index {
    /// Their number is a power of 2.
    slots: Vec<u64>,
    len: usize,
}

impl Index {
    pub fn new() -> Self {
        Index { slots: vec![EMPTY; 16], len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The numbers of this tag.
    pub fn of(&self, tag: u32) -> impl Iterator<Item = u32> {
        self.chain(tag).map(|place| self.slots[place]).filter(move |slot| tag_of(*slot) == tag).map(|slot| slot as u32)
    }

    /// What is in the first slot for the tag. That is usually its number, but may be another one or none (`u32::MAX`).
    pub fn peek(&self, tag: u32) -> u32 {
        self.slots[self.home(tag)] as u32
    }

    pub fn insert(&mut self, tag: u32, number: u32) {
        if self.len * 2 >= self.slots.len() {
            self.grow();
        }
        self.len += 1;
        self.put(slot_of(tag, number));
    }

    /// In place of `before`, which must be there.
    pub fn replace(&mut self, tag: u32, before: u32, number: u32) {
        let place = self.place(tag, before);
        self.slots[place] = slot_of(tag, number);
    }

    /// It must be there.
    pub fn remove(&mut self, tag: u32, number: u32) {
        let mut gap = self.place(tag, number);
        self.len -= 1;
        // What follows without a gap moves up, unless it would stand before its first slot.
        let mask = self.slots.len() - 1;
        let mut next = gap;
        loop {
            next = (next + 1) & mask;
            let slot = self.slots[next];
            if slot == EMPTY {
                break;
            }
            let from_home = next.wrapping_sub(self.home(tag_of(slot))) & mask;
            if from_home >= next.wrapping_sub(gap) & mask {
                self.slots[gap] = slot;
                gap = next;
            }
        }
        self.slots[gap] = EMPTY;
    }

    fn place(&self, tag: u32, number: u32) -> usize {
        self.chain(tag).find(|place| self.slots[*place] == slot_of(tag, number)).expect("a number that was inserted")
    }

    /// The slots from the first one of the tag to the next empty one.
    fn chain(&self, tag: u32) -> impl Iterator<Item = usize> {
        let (home, mask) = (self.home(tag), self.slots.len() - 1);
        (home..).map(move |place| place & mask).take_while(|place| self.slots[*place] != EMPTY)
    }

    fn home(&self, tag: u32) -> usize {
        tag as usize & (self.slots.len() - 1)
    }

    fn put(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut place = self.home(tag_of(slot));
        while self.slots[place] != EMPTY {
            place = (place + 1) & mask;
        }
        self.slots[place] = slot;
    }

    fn grow(&mut self) {
        let double = vec![EMPTY; self.slots.len() * 2];
        let slots = std::mem::replace(&mut self.slots, double);
        slots.into_iter().filter(|slot| *slot != EMPTY).for_each(|slot| self.put(slot));
    }
}

fn slot_of(tag: u32, number: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(number)
}

fn tag_of(slot: u64) -> u32 {
    (slot >> 32) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Few tags, so that they share slots, also around the end of the table.
        #[test]
        fn it_holds_what_was_inserted_and_not_removed(steps in prop::collection::vec((0..24_u32, 0..8_u32), 1..300)) {
            let (mut index, mut model) = (Index::new(), BTreeSet::new());
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
