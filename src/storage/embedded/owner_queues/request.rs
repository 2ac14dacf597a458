//! The requests to the writing thread.

use std::time::Duration;

use crate::write_queue::Answered;
use model::subscribers::SubscriberId;
use storage::event_bus::Offset;
use storage::event_bus::part::Part;
use storage::event_bus::source::LogMark;
use storage::owner_queues::{
    Append, Appended, Change, Changed, Done, Due, Ended, Fence, Fill, Filled, Limit, Totals, Version,
};
use storage::store_error::StoreError;

pub enum Request {
    Change(SubscriberId, Version, Change, Answered<Changed>),
    Append(Part, Vec<Append>, Answered<Appended>),
    Take(Limit, Duration, Answered<Due>),
    Done(SubscriberId, Fence, Done, Answered<Ended>),
    Fill(Fill, Answered<Filled>),
    Resend(SubscriberId, Answered<Option<u64>>),
    Expire(Answered<u64>),
    Totals(Answered<Totals>),
    MoveCursor(Part, Offset, Answered<()>),
    KeepMark(Part, LogMark, Answered<()>),
}

impl Request {
    /// Nothing is known to have been done.
    pub fn refused(self, error: StoreError) {
        match self {
            Request::Change(.., answered) => drop(answered.send(Err(error))),
            Request::Append(.., answered) => drop(answered.send(Err(error))),
            Request::Take(.., answered) => drop(answered.send(Err(error))),
            Request::Done(.., answered) => drop(answered.send(Err(error))),
            Request::Fill(_, answered) => drop(answered.send(Err(error))),
            Request::Resend(_, answered) => drop(answered.send(Err(error))),
            Request::Expire(answered) => drop(answered.send(Err(error))),
            Request::Totals(answered) => drop(answered.send(Err(error))),
            Request::MoveCursor(.., answered) => drop(answered.send(Err(error))),
            Request::KeepMark(.., answered) => drop(answered.send(Err(error))),
        }
    }
}
