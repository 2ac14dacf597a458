//! What a failed call to the hot store means to its caller.

use futures_util::future::BoxFuture;

pub type Answer<T> = BoxFuture<'static, Result<T, StoreError>>;

#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing is known to have been done; asking again may help.
    #[error("hot store unavailable: {0}")]
    Away(String),
    /// The store can no longer be trusted to keep anything until it is opened again.
    #[error("hot store failed and stopped writing: {0}")]
    Failed(String),
}
