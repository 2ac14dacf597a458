//! The ports, bound before anything else is started: a port that is taken ends the start with nothing to undo.

use std::net::{SocketAddr, TcpListener};

use super::error::StartError;
use crate::config::Config;
use crate::edge::listener::{bind, bind_one};

pub(super) struct Listeners {
    /// One for each edge thread, all on one port.
    pub public: Vec<TcpListener>,
    pub probes: TcpListener,
    pub control: TcpListener,
    pub addresses: Addresses,
}

/// Where the listeners are: a configured port 0 is some port by now.
pub(super) struct Addresses {
    pub public: SocketAddr,
    pub admin: SocketAddr,
    pub control: SocketAddr,
}

impl Listeners {
    pub fn bind(config: &Config, threads: usize) -> Result<Self, StartError> {
        let (public, probes, control) = (config.server.listen, config.admin.listen, config.control.listen);
        let public = StartError::binding("server.listen", public, bind(public, threads))?;
        let probes = StartError::binding("admin.listen", probes, bind_one(probes))?;
        let control = StartError::binding("control.listen", control, bind_one(control))?;
        let addresses = Addresses {
            public: StartError::address(&public[0])?,
            admin: StartError::address(&probes)?,
            control: StartError::address(&control)?,
        };
        Ok(Listeners { public, probes, control, addresses })
    }
}
