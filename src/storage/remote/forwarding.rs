//! Requests that a service answers in place of this gateway.

use futures_util::FutureExt;

use super::reads::Stub;
use super::{Answer, RemoteStore};
use storage::gateway_messages::forwarded::{self, By, Forwarded, ForwardedAnswer};
use storage::hot_store::forwarding::Forwarding;

/// Services that are asked, one after the other.
const TRIES: usize = 2;

impl Forwarding for RemoteStore {
    fn forward(&self, request: Forwarded) -> Answer<ForwardedAnswer> {
        let store = self.clone();
        async move {
            let user = match request.by {
                By::User(user) => Some(user),
                By::Anybody | By::Operator => None,
            };
            // A request that may have been counted is not repeated.
            let tries = if request.may_repeat { TRIES } else { 1 };
            let call = async |mut stub: Stub, request| stub.forward(request).await;
            let answer = store.ask_some(user, forwarded::encode(request), tries, call).await?;
            Ok(forwarded::decode_answer(answer))
        }
        .boxed()
    }
}
