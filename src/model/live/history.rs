//! The sessions of a content in the last 15 minutes, in few bytes: a sum for each minute.

use std::ops::RangeInclusive;

/// The number of minutes, with the current one.
const MINUTES: usize = 15;

/// The sum of the seconds of each minute.
#[derive(Clone, Copy, Default)]
pub struct History([u32; MINUTES]);

/// The seconds that were noted.
#[derive(Default)]
pub struct Window {
    /// The first and the last one.
    noted: Option<(u64, u64)>,
}

impl History {
    /// A second begins, and perhaps a minute with it.
    pub fn begin(&mut self, second: u64) {
        if second.is_multiple_of(60) {
            self.0[slot(second)] = 0;
        }
    }

    pub fn add(&mut self, second: u64, sessions: u32) {
        self.begin(second);
        let sum = &mut self.0[slot(second)];
        *sum = sum.saturating_add(sessions);
    }

    /// The minute under way has at least this.
    pub fn raise(&mut self, window: &Window, least: u32) {
        let minute = &mut self.0[slot(window.noted.map_or(0, |(_, last)| last))];
        *minute = least.max(*minute);
    }

    pub fn greatest(&self) -> u32 {
        self.0.iter().copied().max().unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.0 == [0; MINUTES]
    }

    fn sum(&self) -> u64 {
        self.0.iter().copied().map(u64::from).sum()
    }
}

impl Window {
    /// Goes on to this second, and returns those that must be noted.
    pub fn upto(&mut self, second: u64) -> RangeInclusive<u64> {
        let (start, next) = match self.noted {
            // Older seconds are not kept.
            Some((start, last)) => (start, (last + 1).max((second + 1).saturating_sub(MINUTES as u64 * 60))),
            None => (second, second),
        };
        self.noted = Some((start, second.max(next.saturating_sub(1))));
        next..=second
    }

    /// So many seconds are in a history.
    fn seconds(&self) -> u64 {
        self.noted.map_or(1, |(start, last)| ((MINUTES as u64 - 1) * 60 + last % 60).min(last - start) + 1)
    }

    /// Rounded up.
    pub fn mean(&self, history: &History) -> u32 {
        history.sum().div_ceil(self.seconds()) as u32
    }

    /// How much more `sessions` is than the mean, times the seconds of the window.
    pub fn rise(&self, history: &History, sessions: u32) -> i64 {
        i64::from(sessions) * self.seconds() as i64 - history.sum() as i64
    }
}

fn slot(second: u64) -> usize {
    (second / 60) as usize % MINUTES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of what was noted, against one of a list of all seconds.
    #[test]
    fn the_mean_is_that_of_the_last_15_minutes() {
        let (mut window, mut history, mut all) = (Window::default(), History::default(), Vec::new());
        for second in 1_000..4_000_u64 {
            let sessions = (second * 7 % 100) as u32;
            for noted in window.upto(second) {
                history.add(noted, sessions);
                all.push(u64::from(sessions));
            }
            let seconds = all.len().min(14 * 60 + 1 + (second % 60) as usize);
            let sum: u64 = all[all.len() - seconds..].iter().sum();
            assert_eq!(history.sum(), sum, "at {second}");
            assert_eq!(window.rise(&history, 50), 50 * seconds as i64 - sum as i64, "at {second}");
        }
        assert!(window.upto(3_999).is_empty());
        for noted in window.upto(1_000_000) {
            history.add(noted, 8);
        }
        assert_eq!((window.mean(&history), window.rise(&history, 8)), (8, 0));
    }
}
