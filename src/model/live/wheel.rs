//! A timer wheel: which items are due, in constant time for each.

/// Slots of one second. What is due later waits in the last slot, and is put off again.
const SLOTS: u64 = 4096;
const NONE: u32 = u32::MAX;
/// Marks a slot where the item before it would stand.
const FIRST: u32 = 1 << 31;

/// Items are small numbers, each in at most one slot: a doubly linked list whose links are in a table beside the items.
///
/// Moments may come in any order: users' clocks differ, so the next beat may be due before the last one.
pub struct Wheel {
    slots: Vec<u32>,
    links: Vec<Link>,
    /// The first second that may hold items.
    second: u64,
}

#[derive(Clone, Copy)]
struct Link {
    next: u32,
    /// The item before it, or the slot whose first item it is.
    before: u32,
}

impl Wheel {
    /// More items than this cannot be linked.
    pub const ITEMS_MAX: usize = FIRST as usize - 1;

    pub fn new() -> Self {
        Wheel { slots: vec![NONE; SLOTS as usize], links: Vec::new(), second: 0 }
    }

    /// Makes room for items up to `count`.
    pub fn grow(&mut self, count: usize) {
        self.links.reserve_exact(count.saturating_sub(self.links.len()));
        self.links.resize(count, Link { next: NONE, before: NONE });
    }

    /// Puts an item that is in no slot where it comes out at `due` (milliseconds), or before.
    pub fn put(&mut self, item: u32, due: u64) {
        let second = (due / 1000).clamp(self.second, self.second + SLOTS - 1);
        let slot = second % SLOTS;
        let next = self.slots[slot as usize];
        if next != NONE {
            self.links[next as usize].before = item;
        }
        self.links[item as usize] = Link { next, before: FIRST | slot as u32 };
        self.slots[slot as usize] = item;
    }

    pub fn take(&mut self, item: u32) {
        let Link { next, before } = self.links[item as usize];
        match before & FIRST {
            0 => self.links[before as usize].next = next,
            _ => self.slots[(before & !FIRST) as usize] = next,
        }
        if next != NONE {
            self.links[next as usize].before = before;
        }
    }

    /// Takes out all items whose second has begun, and hands them to `visit`, which may put or take any.
    pub fn turn(&mut self, now: u64, due: &mut Vec<u32>) {
        let second = (now / 1000).max(self.second);
        // After so long a gap all slots are due.
        let first = self.second.max((second + 1).saturating_sub(SLOTS));
        for passed in first..=second {
            let slot = &mut self.slots[(passed % SLOTS) as usize];
            let mut item = std::mem::replace(slot, NONE);
            while item != NONE {
                due.push(item);
                item = self.links[item as usize].next;
            }
        }
        self.second = second;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turned(wheel: &mut Wheel, now: u64) -> Vec<u32> {
        let mut due = Vec::new();
        wheel.turn(now, &mut due);
        due.sort_unstable();
        due
    }

    #[test]
    fn items_come_out_in_their_second() {
        let mut wheel = Wheel::new();
        wheel.grow(5);
        for (item, due) in [(0, 5_999), (1, 3_000), (2, 5_000), (3, 4_000), (4, 3_500)] {
            wheel.put(item, due);
        }
        assert!(turned(&mut wheel, 2_999).is_empty());
        assert_eq!(turned(&mut wheel, 3_000), [1, 4]);
        wheel.take(2);
        wheel.put(1, 3_900);
        assert_eq!(turned(&mut wheel, 3_950), [1]);
        assert_eq!(turned(&mut wheel, 60_000), [0, 3]);
        assert!(turned(&mut wheel, 60_000_000).is_empty());
    }

    #[test]
    fn far_items_come_out_early_and_late_items_at_once() {
        let mut wheel = Wheel::new();
        wheel.grow(2);
        turned(&mut wheel, 10_000_000);
        wheel.put(0, u64::MAX);
        wheel.put(1, 0);
        assert_eq!(turned(&mut wheel, 10_000_000), [1]);
        assert_eq!(turned(&mut wheel, 10_000_000 + SLOTS * 1000), [0]);
    }

    #[test]
    fn any_item_of_a_slot_can_be_taken() {
        for taken in 0..3 {
            let mut wheel = Wheel::new();
            wheel.grow(3);
            (0..3).for_each(|item| wheel.put(item, 1_000));
            wheel.take(taken);
            let left: Vec<u32> = (0..3).filter(|item| *item != taken).collect();
            assert_eq!(turned(&mut wheel, 1_000), left);
        }
    }
}
