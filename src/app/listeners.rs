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
        Ok(Listeners {
            public: StartError::binding("server.listen", public, bind(public, threads))?,
            probes: StartError::binding("admin.listen", probes, bind_one(probes))?,
            control: StartError::binding("control.listen", control, bind_one(control))?,
        })
    }

    pub fn addresses(&self) -> Result<Addresses, StartError> {
        Ok(Addresses {
            public: StartError::address(&self.public[0])?,
            admin: StartError::address(&self.probes)?,
            control: StartError::address(&self.control)?,
        })
    }
}
