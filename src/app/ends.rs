//! The reasons to end the process, so that it is started again.

use std::future::pending;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, select_all};

use super::error::StartError;
use edge::shutdown::Shutdown;

/// Resolves to the first reason to end, and begins the drain. Without a reason it never resolves.
pub(super) async fn first(ends: Vec<BoxFuture<'static, StartError>>, shutdown: &Shutdown) -> StartError {
    let (why, ..) = select_all(ends.into_iter().chain([pending().boxed()])).await;
    tracing::error!(event = "ending", %why, "draining; the process has to be started again");
    shutdown.drain();
    why
}
