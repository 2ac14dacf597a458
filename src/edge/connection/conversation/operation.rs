//! Operations that are answered one by one, as the domain knows them.

use futures_util::future::BoxFuture;

use crate::limits::list_limiter::ListPermit;
use crate::protocol::cursor;
use crate::protocol::frame::{Answer, Cursor, Operation};
use domain::history::History;
use domain::store_reads::Unavailable;
use model::change::Action;
use model::ids::UserId;
use model::page::ListRequest;

/// The work that an operation asks for.
pub enum Request {
    /// Read, and answer.
    Read(BoxFuture<'static, Result<Answer, Unavailable>>),
    /// Read when it is this user's turn, and answer.
    List(ListRequest),
    /// Commit, and answer.
    Order(Action),
}

impl Request {
    /// `None` for what the connection itself answers: hello, beats, token.
    pub fn of(operation: Operation, user: UserId, history: &History) -> Option<Request> {
        let history = history.clone();
        Some(match operation {
            Operation::Get { contents } => Request::Read(Box::pin(async move {
                let found = history.get(user, contents).await?;
                Ok(Answer::Records { records: found.records, partial: found.partial })
            })),
            Operation::List(page) => Request::List(page),
            Operation::Delete { contents, at, .. } => Request::Order(Action::Delete { contents, at }),
            Operation::Clear { at } => Request::Order(Action::Clear { at }),
            Operation::Recording { paused, at } => Request::Order(Action::Recording { paused, at }),
            Operation::Hello(_) | Operation::Beats(_) | Operation::Token { .. } => return None,
        })
    }
}

pub async fn list(
    history: History,
    user: UserId,
    request: ListRequest,
    permit: ListPermit,
) -> Result<Answer, Unavailable> {
    let filter = request.filter.clone();
    let page = history.list(user, request, permit.rows()).await?;
    let cursor = page.next.map(|position| cursor::encode(&Cursor { position, filter }));
    Ok(Answer::Page { records: page.records, cursor, partial: page.partial })
}

/// The word of an order on the wire.
pub fn word(action: &Action) -> &'static str {
    match action {
        Action::Beat { .. } => "beats",
        Action::Delete { .. } => "delete",
        Action::Clear { .. } => "clear",
        Action::Recording { .. } => "recording",
        Action::Erase { .. } => "erase",
        Action::Prune { .. } => "prune",
    }
}
