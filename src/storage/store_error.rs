//! Errors of the hot store, by what they mean to the caller.

use futures_util::future::BoxFuture;

pub type Answer<T> = BoxFuture<'static, Result<T, StoreError>>;

#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The store is not reached, or does not answer as it should. Nothing is known to have been done; asking again may
    /// help.
    #[error("hot store unavailable: {0}")]
    Away(String),
    /// Too much waits already: a bounded queue is full, so the request was refused. Asking again later may help.
    /// Clients see no difference from [`Away`](Self::Away).
    #[error("hot store unavailable: {0}")]
    Busy(String),
    /// The store can no longer be trusted to keep anything until it is opened again.
    #[error("hot store failed and stopped writing: {0}")]
    Failed(String),
}

impl StoreError {
    /// Without saying what it means.
    pub fn cause(&self) -> &str {
        let (StoreError::Away(cause) | StoreError::Busy(cause) | StoreError::Failed(cause)) = self;
        cause
    }
}
