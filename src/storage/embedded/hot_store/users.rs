//! Users with records, read in slices of one snapshot.

use fjall::Snapshot;

use super::tables::{ReadError, Tables, View};
use model::ids::{Content, UserId};
use model::page::UsersRequest;

/// Rows in a slice, after which other reads get their turn: about 0.2 ms.
const SLICE_ROWS: usize = 256;

pub struct Users {
    request: UsersRequest,
    horizon: u64,
    /// Where the next slice begins; `None`: all is read.
    from: Option<(UserId, Content)>,
    /// The snapshot of the first slice, which all slices read.
    moment: Option<Snapshot>,
    found: Vec<UserId>,
}

impl Users {
    /// Records older than the horizon do not count.
    pub fn new(request: UsersRequest, horizon: u64) -> Self {
        let from = match request.after {
            None => Some((UserId(0), Content::FIRST)),
            Some(after) => begin_of_next(after),
        };
        Users { request, horizon, from, moment: None, found: Vec::new() }
    }

    /// Reads the next slice. Returns the users once all are found.
    pub fn read_slice(&mut self, tables: &Tables) -> Result<Option<Vec<UserId>>, ReadError> {
        let view = match self.moment.take() {
            Some(snapshot) => tables.view_at(snapshot),
            None => tables.view(),
        };
        let mut left = SLICE_ROWS;
        while let Some(from) = self.from
            && left > 0
            && self.found.len() < self.request.limit
        {
            left = left.saturating_sub(self.read_user(from, left, &view)?);
        }
        if self.from.is_none() || self.found.len() == self.request.limit {
            return Ok(Some(std::mem::take(&mut self.found)));
        }
        self.moment = Some(view.into_snapshot());
        Ok(None)
    }

    /// Reads the rows of one user until a record is found, at most `rows_max`. Returns the cost in rows.
    fn read_user(&mut self, from: (UserId, Content), rows_max: usize, view: &View) -> Result<usize, ReadError> {
        let mut rows = view.contents_from(from.0, from.1);
        let Some(first) = rows.next().transpose()? else {
            self.from = None;
            return Ok(1);
        };
        let user = first.0;
        let user_row = view.user(user)?;
        // Another user or the end of the table goes on after this one.
        self.from = begin_of_next(user);
        let mut cost = 1;
        for row in std::iter::once(Ok(first)).chain(rows) {
            let (of, content, row) = row?;
            if of != user {
                break;
            }
            if cost > rows_max {
                self.from = Some((user, content));
                break;
            }
            cost += 1;
            let wanted = self.request.kinds.is_empty() || self.request.kinds.contains(&content.kind);
            if wanted && row.into_live(&user_row, self.horizon).is_some() {
                self.found.push(user);
                break;
            }
        }
        Ok(cost)
    }
}

fn begin_of_next(user: UserId) -> Option<(UserId, Content)> {
    user.0.checked_add(1).map(|next| (UserId(next), Content::FIRST))
}
