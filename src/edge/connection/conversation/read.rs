//! A read that is under way, a list that waits for its turn, or a frame that waits: a token for its key, beats for the names of
//! their contents.

use std::task::{Context, Poll, ready};

use futures_util::future::BoxFuture;

use super::operation;
use crate::limits::list_limiter::ListPermit;
use crate::protocol::frame::{Answer, ClientFrame};
use domain::history::History;
use domain::store_reads::Unavailable;
use model::ids::UserId;
use model::page::ListRequest;

pub struct Read {
    pub seq: u32,
    stage: Stage,
}

enum Stage {
    /// The frame can go on then.
    Prepares(BoxFuture<'static, ()>, Option<Box<ClientFrame>>),
    Waits(BoxFuture<'static, Result<ListPermit, Unavailable>>, Box<WaitingList>),
    Reads(BoxFuture<'static, Result<Answer, Unavailable>>),
}

/// The end of a read.
pub enum Done {
    Answer(Result<Answer, Unavailable>),
    /// This frame can go on.
    Prepared(Box<ClientFrame>),
}

/// A list that waits for its turn.
pub struct WaitingList {
    pub history: History,
    pub user: UserId,
    pub request: ListRequest,
}

impl WaitingList {
    fn begin(&self, permit: ListPermit) -> Stage {
        let WaitingList { history, user, request } = self;
        Stage::Reads(Box::pin(operation::list(history.clone(), *user, request.clone(), permit)))
    }
}

impl Read {
    pub fn new(seq: u32, answer: BoxFuture<'static, Result<Answer, Unavailable>>) -> Box<Self> {
        Box::new(Read { seq, stage: Stage::Reads(answer) })
    }

    /// For a frame that waits for this.
    pub fn before(prepared: BoxFuture<'static, ()>, frame: ClientFrame) -> Box<Self> {
        Box::new(Read { seq: frame.seq, stage: Stage::Prepares(prepared, Some(Box::new(frame))) })
    }

    pub fn list(seq: u32, list: &WaitingList, permit: ListPermit) -> Box<Self> {
        Box::new(Read { seq, stage: list.begin(permit) })
    }

    pub fn waiting(
        seq: u32,
        list: WaitingList,
        permit: BoxFuture<'static, Result<ListPermit, Unavailable>>,
    ) -> Box<Self> {
        Box::new(Read { seq, stage: Stage::Waits(permit, Box::new(list)) })
    }

    /// Whether it has not begun to read.
    pub fn waits(&self) -> bool {
        matches!(self.stage, Stage::Waits(..))
    }

    /// Not to be called again once it is done.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Done> {
        loop {
            match &mut self.stage {
                Stage::Reads(answer) => return answer.as_mut().poll(cx).map(Done::Answer),
                Stage::Prepares(prepared, frame) => {
                    ready!(prepared.as_mut().poll(cx));
                    return Poll::Ready(frame.take().map_or(Done::Answer(Err(Unavailable)), Done::Prepared));
                }
                Stage::Waits(permit, list) => match ready!(permit.as_mut().poll(cx)) {
                    Ok(permit) => self.stage = list.begin(permit),
                    Err(late) => return Poll::Ready(Done::Answer(Err(late))),
                },
            }
        }
    }
}
