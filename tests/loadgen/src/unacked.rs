//! The beats of one socket that wait for an answer, oldest first.

use std::collections::VecDeque;

use super::viewer::Beat;

#[derive(Debug)]
pub struct Sent {
    pub seq: u32,
    /// Nanoseconds of the load.
    pub intended: u64,
    pub beat: Beat,
    pub rejected: bool,
}

#[derive(Debug, Default)]
pub struct Unacked(VecDeque<Sent>);

impl Unacked {
    pub fn push(&mut self, seq: u32, intended: u64, beat: Beat) {
        self.0.push_back(Sent { seq, intended, beat, rejected: false });
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Sent> {
        self.0.iter_mut()
    }

    /// Marks a beat as rejected: the ack that covers it will not count.
    pub fn reject(&mut self, seq: u32) {
        self.0.iter_mut().filter(|sent| sent.seq == seq).for_each(|sent| sent.rejected = true);
    }

    /// Removes a beat that an error has answered. Returns whether it was waiting.
    pub fn remove(&mut self, seq: Option<u32>) -> bool {
        let index = self.0.iter().position(|sent| Some(sent.seq) == seq);
        index.and_then(|index| self.0.remove(index)).is_some()
    }

    /// Removes and returns the oldest beat, if an ack of `seq` covers it.
    pub fn pop(&mut self, seq: u32) -> Option<Sent> {
        self.0.pop_front_if(|sent| sent.seq <= seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_covers_all_before_it() {
        let mut unacked = Unacked::default();
        for seq in [2, 3, 5, 8] {
            unacked.push(seq, u64::from(seq), Beat { content: 1, played: 0, at: 0 });
        }
        unacked.reject(3);
        assert!(unacked.remove(Some(5)) && !unacked.remove(Some(5)) && !unacked.remove(None));
        let covered: Vec<_> = std::iter::from_fn(|| unacked.pop(7)).map(|sent| (sent.seq, sent.rejected)).collect();
        assert_eq!(covered, [(2, false), (3, true)]);
        assert_eq!(unacked.len(), 1);
    }
}
