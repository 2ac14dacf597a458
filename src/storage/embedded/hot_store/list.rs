//! A user's list, read in slices of one snapshot. Rows are stored by content, so all of the kinds asked for are read.

use std::ops::Bound;

use fjall::Snapshot;

use super::tables::{ReadError, Tables, View};
use model::forgetting::UserRow;
use model::ids::{Content, UserId};
use model::page::{Page, PageRequest};
use model::record::Record;
use model::rows_read::RowsRead;

/// Rows in a slice, after which other reads get their turn: about 0.2 ms.
const SLICE_ROWS: usize = 256;

pub struct List {
    pub user: UserId,
    request: PageRequest,
    horizon: u64,
    rows: RowsRead,
    /// The ranges to read, the last first.
    ranges: Vec<Range>,
    /// The snapshot of the first slice, which all slices read.
    moment: Option<(Snapshot, UserRow)>,
    newest: Vec<Record>,
}

/// A range of contents, up to and including `to`.
struct Range {
    from: Bound<Content>,
    to: Content,
}

impl List {
    /// Records older than the horizon are not listed.
    pub fn new(user: UserId, request: PageRequest, horizon: u64, rows: RowsRead) -> Self {
        let ranges = ranges(&request.kinds);
        List { user, request, horizon, rows, ranges, moment: None, newest: Vec::new() }
    }

    /// Reads the next slice. Returns the page once all is read.
    pub fn read_slice(&mut self, tables: &Tables) -> Result<Option<Page>, ReadError> {
        let (view, user_row) = match self.moment.take() {
            Some((snapshot, user_row)) => (tables.view_at(snapshot), user_row),
            None => {
                let view = tables.view();
                let user_row = view.user(self.user)?;
                (view, user_row)
            }
        };
        let mut left = SLICE_ROWS;
        while let Some(range) = self.ranges.pop_if(|_| left > 0) {
            left -= self.read(range, left, &view, &user_row)?;
        }
        if self.ranges.is_empty() {
            return Ok(Some(self.request.cut(std::mem::take(&mut self.newest))));
        }
        self.request.drop_older(&mut self.newest);
        self.moment = Some((view.into_snapshot(), user_row));
        Ok(None)
    }

    /// Reads at most `rows_max` rows of a range, and keeps the rest of the range for later. Returns the cost in rows.
    fn read(&mut self, range: Range, rows_max: usize, view: &View, user_row: &UserRow) -> Result<usize, ReadError> {
        let (mut rows, mut last) = (0, None);
        for row in view.contents_in(self.user, range.from, range.to).take(rows_max) {
            let (content, row) = row?;
            let record = row.into_live(user_row, self.horizon);
            self.newest.extend(record.filter(|record| self.request.wants(record)));
            (rows, last) = (rows + 1, Some(content));
        }
        if rows == rows_max {
            self.ranges.extend(last.map(|last| Range { from: Bound::Excluded(last), to: range.to }));
        }
        // Looking for the first row costs as much as a row.
        let cost = rows.max(1);
        self.rows.add(cost as u64);
        Ok(cost)
    }
}

/// The ranges of these kinds, the last first. No kinds mean all contents.
fn ranges(kinds: &[u16]) -> Vec<Range> {
    if kinds.is_empty() {
        return vec![Range { from: Bound::Included(Content::FIRST), to: Content::LAST }];
    }
    let mut kinds = kinds.to_vec();
    kinds.sort_unstable_by(|one, other| other.cmp(one));
    kinds.dedup();
    let range = |kind| Range { from: Bound::Included(Content::first_of(kind)), to: Content::last_of(kind) };
    kinds.into_iter().map(range).collect()
}
