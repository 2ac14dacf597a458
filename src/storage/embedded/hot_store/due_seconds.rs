//! How many notices are due in each second.
//!
//! A read of the notices begins at the first of them. From the beginning of the table it would pass all that were removed
//! lately, since a removed row stays in the files for a while.

use std::collections::BTreeMap;

use parking_lot::Mutex;

#[derive(Default)]
pub struct DueSeconds(Mutex<BTreeMap<u64, u64>>);

impl DueSeconds {
    /// Before the notice can be read. `due`: milliseconds.
    pub fn add(&self, due: u64) {
        *self.0.lock().entry(due / 1_000).or_default() += 1;
    }

    /// Once the notice cannot be read any more.
    pub fn remove(&self, due: u64) {
        let mut seconds = self.0.lock();
        if let Some(count) = seconds.get_mut(&(due / 1_000)) {
            *count -= 1;
            if *count == 0 {
                seconds.remove(&(due / 1_000));
            }
        }
    }

    /// No notice is due before it, milliseconds. `None`: there is none.
    pub fn first(&self) -> Option<u64> {
        self.0.lock().keys().next().map(|second| second * 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_second_with_a_notice_is_found() {
        let seconds = DueSeconds::default();
        assert_eq!(seconds.first(), None);
        [5_900, 3_100, 3_999].into_iter().for_each(|due| seconds.add(due));
        assert_eq!(seconds.first(), Some(3_000));
        seconds.remove(3_999);
        assert_eq!(seconds.first(), Some(3_000));
        seconds.remove(3_100);
        assert_eq!(seconds.first(), Some(5_000));
        seconds.add(1);
        assert_eq!(seconds.first(), Some(0));
    }
}
