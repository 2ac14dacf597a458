//! For a reader of the bus that remembers nothing, and begins anew each time.

use std::future::ready;

use super::Offset;
use super::part::Part;
use super::source::{Cursors, LogMark, Marks};
use crate::store_error::Answer;

/// Keeps no place and no mark.
pub struct Unmarked;

impl Cursors for Unmarked {
    fn cursor(&self, _: Part) -> Answer<Offset> {
        Box::pin(ready(Ok(0)))
    }

    fn move_cursor(&self, _: Part, _: Offset) -> Answer<()> {
        Box::pin(ready(Ok(())))
    }
}

impl Marks for Unmarked {
    fn mark(&self, _: Part) -> Answer<Option<LogMark>> {
        Box::pin(ready(Ok(None)))
    }

    fn keep_mark(&self, _: Part, _: LogMark) -> Answer<()> {
        Box::pin(ready(Ok(())))
    }
}
