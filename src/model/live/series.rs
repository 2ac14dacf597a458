//! How many sessions there were: the last 60 seconds, and the last 60 minutes.

use std::collections::VecDeque;

pub const SECONDS: usize = 60;
pub const MINUTES: usize = 60;

/// One number a second. Before the start there was no session.
pub struct Series {
    seconds: VecDeque<u32>,
    minutes: VecDeque<Minute>,
    /// The last one that was noted.
    second: Option<u64>,
}

/// The seconds of one minute that were noted.
#[derive(Clone, Copy, Default)]
struct Minute {
    sum: u64,
    seconds: u64,
}

impl Series {
    pub fn new() -> Self {
        Series {
            seconds: VecDeque::from([0; SECONDS]),
            minutes: VecDeque::from([Minute::default(); MINUTES]),
            second: None,
        }
    }

    /// The second that was noted last.
    pub fn noted(&self) -> Option<u64> {
        self.second
    }

    /// Notes `sessions` for this second, and for those since the last one that was noted.
    pub fn note(&mut self, second: u64, sessions: u32) {
        let first = match self.second {
            Some(noted) if second <= noted => return,
            // Older seconds are in neither list.
            Some(noted) => (noted + 1).max(second.saturating_sub((MINUTES * 60) as u64)),
            None => second,
        };
        for passed in first..=second {
            if self.second.is_some_and(|noted| noted / 60 != passed / 60) {
                self.minutes.pop_front();
                self.minutes.push_back(Minute::default());
            }
            self.second = Some(passed);
            self.seconds.pop_front();
            self.seconds.push_back(sessions);
            let minute = self.minutes.back_mut().expect("it is never empty");
            minute.sum += u64::from(sessions);
            minute.seconds += 1;
        }
    }

    /// The oldest first.
    pub fn seconds(&self) -> [u32; SECONDS] {
        std::array::from_fn(|index| self.seconds[index])
    }

    /// The mean of each minute, rounded; the oldest first, the last one up to now.
    pub fn minutes(&self) -> [u32; MINUTES] {
        std::array::from_fn(|index| self.minutes[index].mean())
    }
}

impl Minute {
    fn mean(self) -> u32 {
        match self.seconds {
            0 => 0,
            seconds => ((self.sum + seconds / 2) / seconds) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_has_one_value_and_missed_seconds_are_filled() {
        let mut series = Series::new();
        series.note(100, 7);
        series.note(100, 9);
        series.note(103, 5);
        assert_eq!(series.seconds()[SECONDS - 5..], [0, 7, 5, 5, 5]);
        assert_eq!(series.seconds().iter().sum::<u32>(), 22);
    }

    #[test]
    fn a_minute_is_the_mean_of_its_seconds() {
        let mut series = Series::new();
        (60..120).for_each(|second| series.note(second, if second < 90 { 10 } else { 21 }));
        (120..125).for_each(|second| series.note(second, 3));
        assert_eq!(series.minutes()[MINUTES - 3..], [0, 16, 3]);
        // A gap longer than both lists.
        series.note(120 + 86_400, 4);
        assert_eq!((series.minutes(), series.seconds()), ([4; MINUTES], [4; SECONDS]));
    }
}
