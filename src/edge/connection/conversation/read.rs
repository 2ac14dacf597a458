//! A read that is under way, or a list that waits for its turn.

use std::task::{Context, Poll, ready};

use futures_util::future::BoxFuture;

use super::operation;
use crate::domain::history::History;
use crate::domain::store_reads::Unavailable;
use crate::edge::limits::list_limiter::ListPermit;
use crate::edge::protocol::frame::Answer;
use crate::model::ids::UserId;
use crate::model::page::ListRequest;

pub struct Read {
    pub seq: u32,
    stage: Stage,
}

enum Stage {
    Waits(BoxFuture<'static, Result<ListPermit, Unavailable>>, Box<WaitingList>),
    Reads(BoxFuture<'static, Result<Answer, Unavailable>>),
}

/// What is listed when the turn comes.
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

    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Answer, Unavailable>> {
        loop {
            match &mut self.stage {
                Stage::Reads(answer) => return answer.as_mut().poll(cx),
                Stage::Waits(permit, list) => match ready!(permit.as_mut().poll(cx)) {
                    Ok(permit) => self.stage = list.begin(permit),
                    Err(late) => return Poll::Ready(Err(late)),
                },
            }
        }
    }
}
