//! The times at which beats are meant to be sent, independent of the answers: an open loop.

const NANOS: f64 = 1e9;

/// The beats of one crowd, evenly spaced; its sockets take turns. Times are nanoseconds since the start of the load.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    offset: f64,
    gap: f64,
    /// The number of beats.
    pub total: u64,
    sockets: u64,
}

impl Schedule {
    /// `rate`: beats a second. `offset_seconds`: the time of the first beat, so that crowds do not send in unison.
    pub fn new(rate: f64, seconds: f64, sockets: u64, offset_seconds: f64) -> Self {
        let total = (rate * seconds).round() as u64;
        Schedule { offset: offset_seconds * NANOS, gap: NANOS / rate, total, sockets }
    }

    /// The time of the beat of this number (from 0).
    pub fn intended(&self, beat: u64) -> u64 {
        (self.offset + self.gap * beat as f64) as u64
    }

    /// The number of beats due by `now`.
    pub fn due(&self, now: u64) -> u64 {
        let mut due = (((now as f64 - self.offset) / self.gap).max(-1.0) + 1.0).floor() as u64;
        // Rounding may be off by one either way, and a beat must never be early.
        while due > 0 && self.intended(due - 1) > now {
            due -= 1;
        }
        while self.intended(due) <= now {
            due += 1;
        }
        due.min(self.total)
    }

    /// The part of the schedule that is due by `now`.
    pub fn until(self, now: u64) -> Self {
        Schedule { total: self.due(now), ..self }
    }

    /// The socket of a beat, and the number of the turn of that socket (from 0).
    pub fn turn(&self, beat: u64) -> (usize, u64) {
        ((beat % self.sockets) as usize, beat / self.sockets)
    }

    /// The time of a turn of a socket; `None` after its last turn.
    pub fn intended_turn(&self, socket: u64, turn: u64) -> Option<u64> {
        let beat = turn * self.sockets + socket;
        (beat < self.total).then(|| self.intended(beat))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sockets_take_turns_at_an_even_pace() {
        let schedule = Schedule::new(1000.0, 2.0, 3, 0.0005);
        assert_eq!(schedule.total, 2000);
        assert_eq!([0, 1, 1999].map(|beat| schedule.intended(beat)), [500_000, 1_500_000, 1_999_500_000]);
        assert_eq!([0, 2, 3, 7].map(|beat| schedule.turn(beat)), [(0, 0), (2, 0), (0, 1), (1, 2)]);
        assert_eq!(schedule.intended_turn(1, 2), Some(schedule.intended(7)));
        assert_eq!(schedule.intended_turn(1, 666), Some(schedule.intended(1999)));
        assert_eq!(schedule.intended_turn(2, 666), None);
    }

    #[test]
    fn no_beat_is_due_early_and_every_beat_becomes_due() {
        for rate in [0.7, 3.0, 999.9, 33_333.3] {
            let schedule = Schedule::new(rate, 100.0, 10, 0.01);
            assert_eq!(schedule.due(0), 0);
            for beat in (0..schedule.total).step_by(7) {
                let intended = schedule.intended(beat);
                assert_eq!(schedule.due(intended), beat + 1, "{rate} {beat}");
                assert_eq!(schedule.due(intended - 1), beat, "{rate} {beat}");
            }
            assert_eq!(schedule.due(u64::MAX / 2), schedule.total);
            let half = schedule.until(50_000_000_000);
            assert_eq!((half.total, half.due(u64::MAX / 2)), (schedule.due(50_000_000_000), half.total));
        }
    }
}
