//! The ports, bound before anything else is started: a port that is taken ends the start with nothing to undo.

use std::net::{SocketAddr, TcpListener};

use super::error::StartError;
use super::grpc::GrpcListener;
use super::role::Role;
use crate::config::Config;
use edge::listener::{bind, bind_one};

pub(super) struct Listeners {
    /// One for each edge thread, all on one port; none if no clients are served.
    pub public: Vec<TcpListener>,
    pub grpc: Option<GrpcListener>,
    pub probes: TcpListener,
    pub control: TcpListener,
    pub addresses: Addresses,
}

/// Where the listeners are: a configured port 0 is some port by now.
pub(super) struct Addresses {
    pub public: Option<SocketAddr>,
    pub grpc: Option<SocketAddr>,
    pub admin: SocketAddr,
    pub control: SocketAddr,
}

impl Listeners {
    /// The first one: it answers while the start still waits.
    pub fn bind_probes(config: &Config) -> Result<TcpListener, StartError> {
        let probes = config.admin.listen;
        StartError::binding("admin.listen", probes, bind_one(probes))
    }

    pub fn bind(config: &Config, role: Role, probes: TcpListener) -> Result<Self, StartError> {
        let (public, control) = (config.server.listen, config.control.listen);
        let public = match role.serves_clients() {
            true => StartError::binding("server.listen", public, bind(public, edge_threads(config.server.threads)))?,
            false => Vec::new(),
        };
        let control = StartError::binding("control.listen", control, bind_one(control))?;
        let grpc = GrpcListener::bind(config)?;
        let addresses = Addresses {
            public: public.first().map(StartError::address).transpose()?,
            grpc: grpc.as_ref().map(|grpc| grpc.address),
            admin: StartError::address(&probes)?,
            control: StartError::address(&control)?,
        };
        Ok(Listeners { public, grpc, probes, control, addresses })
    }
}

impl Addresses {
    /// Where this process serves what it is there for.
    pub fn main(&self) -> SocketAddr {
        self.public.or(self.grpc).unwrap_or(self.control)
    }
}

fn edge_threads(configured: usize) -> usize {
    match configured {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        count => count,
    }
}
