//! A queue that serves its askers in turn: one with much in it delays another by one item only.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

pub struct FairQueue<Asker, Item> {
    /// Never an empty one.
    waiting: HashMap<Asker, VecDeque<Item>>,
    /// The askers in `waiting`, once each.
    turns: VecDeque<Asker>,
    len: usize,
}

impl<Asker: Copy + Eq + Hash, Item> FairQueue<Asker, Item> {
    pub fn new() -> Self {
        FairQueue { waiting: HashMap::new(), turns: VecDeque::new(), len: 0 }
    }

    /// Items of all askers.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Puts an item after those of its asker.
    pub fn push(&mut self, asker: Asker, item: Item) {
        self.len += 1;
        match self.waiting.entry(asker) {
            Entry::Occupied(theirs) => theirs.into_mut().push_back(item),
            Entry::Vacant(slot) => {
                // Most askers have one item only.
                let mut items = VecDeque::with_capacity(1);
                items.push_back(item);
                slot.insert(items);
                self.turns.push_back(asker);
            }
        }
    }

    /// The next item of the next asker.
    pub fn pop(&mut self) -> Option<(Asker, Item)> {
        let asker = self.turns.pop_front()?;
        let Entry::Occupied(mut theirs) = self.waiting.entry(asker) else { return None };
        let item = theirs.get_mut().pop_front()?;
        self.len -= 1;
        if theirs.get().is_empty() {
            theirs.remove();
        } else {
            self.turns.push_back(asker);
        }
        Some((asker, item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(queue: &mut FairQueue<u64, &'static str>) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.pop()).map(|(_, item)| item).collect()
    }

    #[test]
    fn askers_take_turns_however_many_items_each_has() {
        let mut queue = FairQueue::new();
        for (asker, item) in [(1, "a"), (1, "b"), (1, "c"), (2, "d"), (3, "e"), (2, "f")] {
            queue.push(asker, item);
        }
        assert_eq!(queue.len(), 6);
        assert_eq!(all(&mut queue), ["a", "d", "e", "b", "f", "c"]);
        assert_eq!((queue.len(), queue.waiting.len(), queue.turns.len()), (0, 0, 0));
    }

    #[test]
    fn a_requeued_item_goes_behind_the_others() {
        let mut queue = FairQueue::new();
        queue.push(1, "slice");
        queue.push(2, "get");
        let (asker, slice) = queue.pop().expect("an item");
        queue.push(asker, slice);
        assert_eq!(all(&mut queue), ["get", "slice"]);
    }
}
