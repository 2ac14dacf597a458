//! The playback of one user, which makes beats.

use super::dice::Dice;

/// A flag of a day without rewards: a client that was asleep for long may send it.
const STALE_FLAG: &[u8; 10] = b"2000-01-01";

/// `YYYY-MM-DD`.
pub type Flag = [u8; 10];

/// Shares of the beats, 0 to 1.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    pub new_contents: f64,
    pub stale_flags: f64,
    /// Sends no flags, not even the one that the server has sent.
    pub no_flags: bool,
    pub resends: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Viewer {
    /// Contents started so far; the last one is playing.
    content: u32,
    began: u64,
    last_at: u64,
    /// The newest flag of the server.
    pub flag: Option<Flag>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The user's contents from 1, in the order in which they were started.
    pub content: u32,
    /// Milliseconds played in this session.
    pub played: u64,
    pub at: u64,
}

impl Viewer {
    /// The next beat, with `at` (server-clock milliseconds), or later if the previous beat is not older.
    pub fn make(&mut self, at: u64, habits: &Habits, dice: &mut Dice) -> Beat {
        if self.content > 0 && dice.falls(habits.resends) {
            return self.beat();
        }
        if self.content == 0 || dice.falls(habits.new_contents) {
            self.content += 1;
            self.began = at.max(self.last_at + 1);
        }
        self.last_at = at.max(self.last_at + 1);
        self.beat()
    }

    fn beat(&self) -> Beat {
        Beat { content: self.content, played: self.last_at - self.began, at: self.last_at }
    }

    /// The flag of the next beat.
    pub fn flag(&self, habits: &Habits, dice: &mut Dice) -> Option<Flag> {
        if dice.falls(habits.stale_flags) { Some(*STALE_FLAG) } else { self.flag.filter(|_| !habits.no_flags) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_grow_within_a_session_and_resends_repeat_the_last() {
        let (mut viewer, mut dice) = (Viewer::default(), Dice::new(1));
        let habits = Habits { new_contents: 0.0, stale_flags: 0.0, no_flags: false, resends: 0.0 };
        let first = viewer.make(1000, &habits, &mut dice);
        assert_eq!(first, Beat { content: 1, played: 0, at: 1000 });
        assert_eq!(viewer.make(1000, &habits, &mut dice), Beat { content: 1, played: 1, at: 1001 });
        let again = Habits { resends: 1.0, ..habits };
        assert_eq!(viewer.make(2000, &again, &mut dice), Beat { content: 1, played: 1, at: 1001 });
        let new = Habits { new_contents: 1.0, ..habits };
        assert_eq!(viewer.make(3000, &new, &mut dice), Beat { content: 2, played: 0, at: 3000 });
    }

    #[test]
    fn a_beat_repeats_the_flag_of_the_server_unless_set_otherwise() {
        let (viewer, mut dice) = (Viewer { flag: Some(*b"2026-11-20"), ..Viewer::default() }, Dice::new(1));
        let good = Habits { new_contents: 0.0, stale_flags: 0.0, no_flags: false, resends: 0.0 };
        assert_eq!(viewer.flag(&good, &mut dice), viewer.flag);
        assert_eq!(viewer.flag(&Habits { no_flags: true, ..good }, &mut dice), None);
        assert_eq!(viewer.flag(&Habits { stale_flags: 1.0, ..good }, &mut dice), Some(*STALE_FLAG));
    }
}
