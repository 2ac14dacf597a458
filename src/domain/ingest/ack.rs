//! Which frames of a connection are answered by what was committed.

use std::collections::VecDeque;

/// The beats frames of one connection that are not acked yet.
///
/// Slots are committed in the order in which they were opened, so counting answers is enough: a frame is answered when
/// all slots that were opened up to it are. A frame that opened none (its beats joined older slots, or were rejected
/// alone) is answered together with the one before it.
///
/// Bounded by the uncommitted slots of the connection, since every frame kept here has at least one.
#[derive(Debug, Default)]
pub struct Unacked {
    /// (the newest frame answered with these slots, slots still open)
    frames: VecDeque<(u32, usize)>,
    acked: u32,
    slots: usize,
}

impl Unacked {
    /// The frame `seq` was taken and opened so many slots.
    pub fn submitted(&mut self, seq: u32, slots: usize) {
        self.slots += slots;
        match self.frames.back_mut() {
            Some(last) if slots == 0 => last.0 = seq,
            None if slots == 0 => self.acked = seq,
            _ => self.frames.push_back((seq, slots)),
        }
    }

    /// So many slots, the oldest, were committed or rejected.
    pub fn answered(&mut self, mut slots: usize) {
        self.slots -= slots;
        while let Some((seq, open)) = self.frames.front_mut() {
            let of_this = slots.min(*open);
            *open -= of_this;
            slots -= of_this;
            if *open > 0 {
                return;
            }
            self.acked = *seq;
            self.frames.pop_front();
        }
    }

    /// Every beats frame up to it is answered; 0 = none yet.
    pub fn acked(&self) -> u32 {
        self.acked
    }

    /// Slots not committed yet.
    pub fn slots(&self) -> usize {
        self.slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_acked_with_the_last_of_its_slots() {
        let mut unacked = Unacked::default();
        unacked.submitted(2, 2);
        unacked.submitted(5, 1);
        unacked.answered(1);
        assert_eq!(unacked.acked(), 0);
        unacked.answered(1);
        assert_eq!(unacked.acked(), 2);
        unacked.answered(1);
        assert_eq!((unacked.acked(), unacked.slots()), (5, 0));
    }

    #[test]
    fn a_frame_without_slots_waits_for_those_before_it() {
        let mut unacked = Unacked::default();
        unacked.submitted(1, 0);
        assert_eq!(unacked.acked(), 1);
        unacked.submitted(2, 1);
        unacked.submitted(3, 0);
        unacked.submitted(4, 1);
        assert_eq!(unacked.acked(), 1);
        unacked.answered(1);
        assert_eq!(unacked.acked(), 3);
    }
}
