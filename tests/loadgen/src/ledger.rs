//! The acked beats of one user, which must be stored.

use super::viewer::Beat;

/// The newest acked `at` of each content, numbered from 1; 0 = none.
#[derive(Clone, Debug, Default)]
pub struct Ledger(Vec<u64>);

/// Consecutive contents, to be read back in one request.
#[derive(Debug)]
pub struct Page<'a> {
    pub first: u32,
    pub acked: &'a [u64],
}

impl Ledger {
    pub fn note(&mut self, beat: &Beat) {
        let content = beat.content as usize;
        if self.0.len() < content {
            self.0.resize(content, 0);
        }
        let newest = &mut self.0[content - 1];
        *newest = beat.at.max(*newest);
    }

    pub fn pages(&self, contents: usize) -> impl Iterator<Item = Page<'_>> {
        let page = move |(index, acked)| Page { first: (index * contents) as u32 + 1, acked };
        self.0.chunks(contents).enumerate().map(page)
    }
}

impl Page<'_> {
    pub fn contents(&self) -> std::ops::Range<u32> {
        self.first..self.first + self.acked.len() as u32
    }

    /// Contents with an ack.
    pub fn count(&self) -> u64 {
        self.acked.iter().filter(|at| **at > 0).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_ack_of_each_content_is_kept() {
        let mut ledger = Ledger::default();
        for (content, at) in [(1, 10), (3, 30), (3, 31), (1, 9), (5, 50)] {
            ledger.note(&Beat { content, played: 0, at });
        }
        let pages: Vec<_> = ledger.pages(2).map(|page| (page.contents(), page.acked.to_vec(), page.count())).collect();
        assert_eq!(pages, [(1..3, vec![10, 0], 1), (3..5, vec![31, 0], 1), (5..6, vec![50], 1)]);
        assert_eq!(Ledger::default().pages(2).count(), 0);
    }
}
