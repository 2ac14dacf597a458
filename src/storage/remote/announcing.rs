//! Kicks, which are announced to all gateways, and the list of revocations, which all gateways share.

use std::time::Duration;

use super::RemoteStore;
use super::reads::Stub;
use model::ids::UserId;
use storage::device_channel::{Announcement, ChannelAway, codec};
use storage::gateway_messages::wire;
use storage::hot_store::StoreError;

/// How long a caller that blocks waits.
const BLOCKED_MAX: Duration = Duration::from_secs(5);

impl RemoteStore {
    /// By the service of the user.
    pub async fn announce_to_all(self, user: UserId, announcement: Announcement) -> Result<(), ChannelAway> {
        let gateway = self.services.gateway;
        let message = codec::encode_announcement(gateway, announcement);
        let request = wire::AnnounceRequest { gateway: gateway.0, message };
        let call = async |mut stub: Stub, request| stub.announce(request).await;
        self.ask(Some(user), request, call).await.map(drop).map_err(|error| ChannelAway(error.to_string()))
    }

    pub fn revocations(&self, request: wire::RevocationsRequest) -> Result<wire::RevocationsResponse, StoreError> {
        self.blocking(async move |store: RemoteStore| {
            let call = async |mut stub: Stub, request| stub.revocations(request).await;
            store.ask(None, request, call).await
        })
    }

    pub fn revoke(&self, request: wire::RevokeRequest) -> Result<wire::RevokeResponse, StoreError> {
        self.blocking(async move |store: RemoteStore| {
            let call = async |mut stub: Stub, request| stub.revoke(request).await;
            store.ask(None, request, call).await
        })
    }

    pub fn take_back(&self, request: wire::TakeBackRequest) -> Result<wire::TakeBackResponse, StoreError> {
        self.blocking(async move |store: RemoteStore| {
            let call = async |mut stub: Stub, request| stub.take_back(request).await;
            store.ask(None, request, call).await
        })
    }

    /// Runs a call on the thread of the connections, and blocks until it is answered.
    fn blocking<A: Send + 'static, F: Future<Output = Result<A, StoreError>> + Send + 'static>(
        &self,
        call: impl FnOnce(RemoteStore) -> F,
    ) -> Result<A, StoreError> {
        let (sender, answered) = std::sync::mpsc::sync_channel(1);
        let asked = call(self.clone());
        self.runtime.spawn(async move { sender.send(asked.await) });
        let late = |_| StoreError::Away("the history service does not answer".to_owned());
        answered.recv_timeout(BLOCKED_MAX).map_err(late)?
    }
}
