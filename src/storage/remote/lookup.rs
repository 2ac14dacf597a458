//! Finds the services by their addresses, and keeps a connection to each.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::link::Link;
use super::services::Services;
use storage::config::history_service::ServiceAddress;

/// How often names are looked up.
const LOOKUP_INTERVAL: Duration = Duration::from_secs(5);

/// Follows the addresses. Never ends.
pub async fn follow(services: Arc<Services>, addresses: Vec<ServiceAddress>) {
    let mut links: HashMap<SocketAddr, (ServiceAddress, JoinHandle<()>)> = HashMap::new();
    loop {
        // Two names of one place are one service.
        let mut found = HashMap::new();
        for address in &addresses {
            match tokio::net::lookup_host((address.host.as_str(), address.port)).await {
                Ok(places) => found.extend(places.map(|place| (place, address.clone()))),
                Err(error) => {
                    tracing::debug!(%error, %address, "cannot look up a history service");
                    services.first.send_if_modified(|first| first.is_away(format!("{address}: {error}")));
                    // A name server that is away takes no service with it.
                    let known = links.iter().filter(|(_, (of, _))| of == address);
                    found.extend(known.map(|(place, _)| (*place, address.clone())));
                }
            }
        }
        links.retain(|place, (_, link)| {
            let stays = found.contains_key(place);
            if !stays {
                link.abort();
            }
            stays
        });
        for (place, address) in found {
            let link = Link { services: services.clone(), address: address.clone(), place };
            links.entry(place).or_insert_with(|| (address, tokio::spawn(link.keep())));
        }
        sleep(LOOKUP_INTERVAL).await;
    }
}
