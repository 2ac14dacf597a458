//! The client behind a connection, for operators.

use std::net::IpAddr;
use std::sync::Arc;

use crate::model::ids::ConnectionId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// As far as proxies name it.
    pub address: IpAddr,
    /// As its hello names it; empty when it does not.
    pub device: Arc<str>,
    /// When it was welcomed, in milliseconds of the server's clock.
    pub since: u64,
}

/// One line of a list of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedConnection {
    pub id: ConnectionId,
    pub client: Client,
}
