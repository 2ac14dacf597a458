//! The client behind a connection, for operators.

use std::net::IpAddr;
use std::sync::Arc;

use model::ids::ConnectionId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The address of the client, as far as proxies name it.
    pub address: IpAddr,
    /// The name in its hello; empty if there is none.
    pub device: Arc<str>,
    /// The time of its welcome, in milliseconds of the server clock.
    pub since: u64,
}

/// One line of a list of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedConnection {
    pub id: ConnectionId,
    pub client: Client,
}
