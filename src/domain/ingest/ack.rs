//! Which frames of a connection are acked, given its committed slots.

use std::collections::VecDeque;

/// The beats frames of one connection that are not acked yet.
///
/// Slots are committed in the order in which they were opened, so counting answers is enough: a frame is acked once all
/// slots opened up to it are answered. A frame that opened no slot (its beats joined older slots, or were rejected
/// alone) is acked together with the frame before it.
///
/// Bounded by the uncommitted slots of the connection, since every frame kept here has at least one.
#[derive(Debug, Default)]
pub struct Unacked {
    frames: VecDeque<Frames>,
    acked: u32,
    slots: u32,
    beats: u32,
}

/// Frames that are answered together.
#[derive(Debug)]
struct Frames {
    /// The seq of the newest of these frames.
    seq: u32,
    /// The number of unanswered slots.
    slots: u32,
    beats: u32,
}

impl Unacked {
    /// Takes note of a frame: the slots it opened, and its beats that were not rejected alone.
    pub fn submitted(&mut self, seq: u32, slots: usize, beats: usize) {
        let (slots, beats) = (slots as u32, beats as u32);
        match self.frames.back_mut() {
            Some(last) if slots == 0 => {
                last.seq = seq;
                last.beats += beats;
            }
            None if slots == 0 => {
                self.acked = seq;
                return;
            }
            _ => self.frames.push_back(Frames { seq, slots, beats }),
        }
        self.slots += slots;
        self.beats += beats;
    }

    /// Takes note that the oldest `slots` slots were committed or rejected.
    pub fn answered(&mut self, slots: usize) {
        let mut slots = slots as u32;
        self.slots -= slots;
        while let Some(first) = self.frames.front_mut() {
            let of_these = slots.min(first.slots);
            first.slots -= of_these;
            slots -= of_these;
            if first.slots > 0 {
                return;
            }
            self.acked = first.seq;
            self.beats -= first.beats;
            self.frames.pop_front();
        }
    }

    /// The seq up to which every beats frame is answered; 0 = none yet.
    pub fn acked(&self) -> u32 {
        self.acked
    }

    /// Slots not committed yet.
    pub fn slots(&self) -> usize {
        self.slots as usize
    }

    /// Beats of frames that are not acked yet.
    pub fn beats(&self) -> usize {
        self.beats as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_acked_with_the_last_of_its_slots() {
        let mut unacked = Unacked::default();
        unacked.submitted(2, 2, 2);
        unacked.submitted(5, 1, 3);
        unacked.answered(1);
        assert_eq!(unacked.acked(), 0);
        unacked.answered(1);
        assert_eq!(unacked.acked(), 2);
        unacked.answered(1);
        assert_eq!((unacked.acked(), unacked.slots(), unacked.beats()), (5, 0, 0));
    }

    #[test]
    fn a_frame_without_slots_waits_for_those_before_it() {
        let mut unacked = Unacked::default();
        unacked.submitted(1, 0, 0);
        assert_eq!(unacked.acked(), 1);
        unacked.submitted(2, 1, 1);
        unacked.submitted(3, 0, 5);
        unacked.submitted(4, 1, 2);
        assert_eq!((unacked.acked(), unacked.beats()), (1, 8));
        unacked.answered(1);
        assert_eq!((unacked.acked(), unacked.beats()), (3, 2));
    }
}
