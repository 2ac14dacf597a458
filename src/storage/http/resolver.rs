//! Looks up names.

use std::net::{IpAddr, SocketAddr};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;

/// `server`: the one to ask; `None` = those of the system, and its file of hosts. Without a resolver no name is found: a
/// machine that has none may serve everything else.
pub fn open(server: Option<SocketAddr>) -> Option<TokioResolver> {
    let builder = match server {
        None => TokioResolver::builder_tokio(),
        Some(server) => {
            let mut config = NameServerConfig::udp_and_tcp(server.ip());
            config.connections.iter_mut().for_each(|connection| connection.port = server.port());
            let config = ResolverConfig::from_name_servers(vec![config]);
            Ok(TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()))
        }
    };
    let built = builder.and_then(|builder| builder.build());
    let told = |error: &hickory_resolver::net::NetError| {
        tracing::warn!(
            event = "no_resolver",
            %error,
            "endpoints of subscribers cannot be found by name; correct /etc/resolv.conf, or set subscribers.dns"
        );
    };
    built.inspect_err(told).ok()
}

/// All addresses of a name, which is taken as it is: no domain of this machine is added.
pub async fn addresses(resolver: &TokioResolver, name: &str) -> Option<Vec<IpAddr>> {
    let name = if name.ends_with('.') { name.to_owned() } else { format!("{name}.") };
    let found: Vec<IpAddr> = resolver.lookup_ip(name).await.ok()?.iter().collect();
    (!found.is_empty()).then_some(found)
}
