//! Makes a client from `statistics.url`, without waiting for a server.

use std::time::Duration;

use mongodb::Client;
use mongodb::options::ClientOptions;

use super::refused::{Refusal, describe};

/// The timeout of a connection to one server, and of finding a server that takes writes.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Connections to each server. Further requests wait for one.
const CONNECTIONS_MAX: u32 = 16;
const IDLE_CONNECTION_LIFE: Duration = Duration::from_secs(300);

/// Connections are opened when they are needed, and again after they were lost.
pub(super) async fn client(url: &str) -> Result<Client, Refusal> {
    let away = |error: mongodb::error::Error| Refusal::Away(describe(&error));
    let mut options = ClientOptions::parse(url).await.map_err(away)?;
    options.app_name = Some("heartline".to_owned());
    options.connect_timeout = Some(CONNECT_TIMEOUT);
    options.server_selection_timeout = Some(CONNECT_TIMEOUT);
    options.max_pool_size = Some(CONNECTIONS_MAX);
    options.min_pool_size = None;
    options.max_idle_time = Some(IDLE_CONNECTION_LIFE);
    Client::with_options(options).map_err(away)
}
