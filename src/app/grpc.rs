//! The gRPC listener, on a thread of its own.

use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::assembly::Assembly;
use super::common::Common;
use super::edge::Edge;
use super::error::StartError;
use super::rewards::Calendar;
use super::spawn::{runtime, spawn};
use super::threads::EdgeThread;
use crate::config::Config;
use crate::domain::devices::gateways::Gateways;
use crate::domain::ingest::health::StoreHealth;
use crate::domain::ingest::submit_queue::Completions;
use crate::domain::revocations::Revocations;
use crate::domain::stored_users::Users;
use crate::edge::grpc::connection::Patience;
use crate::edge::grpc::gateways::{Behind, GatewayService, StoreState};
use crate::edge::grpc::server::GrpcServer;
use crate::edge::listener::{Tls, bind_one};
use crate::model::rewards::rule::Per;

/// A port that is bound, and the certificate with which it is served.
pub(super) struct GrpcListener {
    pub address: SocketAddr,
    pub tls: Option<Arc<Tls>>,
    listener: StdListener,
}

/// What is served on the port.
pub(super) struct Grpc {
    listener: GrpcListener,
    server: GrpcServer,
    completions: Vec<Completions>,
}

/// `store`: tells the store from others.
pub(super) fn behind(store: String, calendar: &Calendar, config: &Config) -> Behind {
    let has = |per| !calendar.rules.per(per).is_empty();
    let settings = Arc::new(config.alike.clone());
    Behind { store, rules_per_user: has(Per::User), rules_per_content: has(Per::Content), settings }
}

/// What gateways without a store need of the process.
pub(super) struct Peers {
    pub gateways: Arc<Gateways>,
    pub revocations: Arc<Revocations>,
    pub behind: Behind,
    pub health: Arc<StoreHealth>,
}

impl GrpcListener {
    /// `None`: it is off.
    pub fn bind(config: &Config) -> Result<Option<Self>, StartError> {
        let Some(address) = config.grpc.listen.0 else { return Ok(None) };
        let tls = config.grpc.tls().map(Tls::load).transpose()?;
        let listener = StartError::binding("grpc.listen", address, bind_one(address))?;
        Ok(Some(GrpcListener { address: StartError::address(&listener)?, tls, listener }))
    }
}

impl Grpc {
    /// `edge`: one that no other thread has.
    pub fn build(
        config: &Config,
        listener: GrpcListener,
        Edge { context, completions }: Edge,
        Peers { gateways, revocations, behind, health }: Peers,
        common: &Common,
        assembly: &mut Assembly,
    ) -> Self {
        let users = Users { store: common.hot.clone(), clock: common.clock.clone() };
        gateways.register(assembly.metrics());
        let store = StoreState { health, clock_status: common.clock_status.clone() };
        let service = GatewayService { context, users, gateways, revocations, behind, store };
        let patience = Patience { handshake: config.server.handshake_timeout, idle: config.server.keep_alive };
        let calls_max = config.limits.grpc_calls;
        let server = GrpcServer::new(service, &config.grpc, patience, calls_max, assembly.metrics());
        Grpc { listener, server, completions }
    }

    /// What to print, so that a script knows where it is.
    pub fn announcement(&self) -> String {
        let scheme = if self.listener.tls.is_some() { "https" } else { "http" };
        format!("grpc listener: {scheme}://{}\n", self.listener.address)
    }

    pub fn start(self) -> std::io::Result<EdgeThread> {
        let Grpc { listener: GrpcListener { listener, tls, .. }, server, completions } = self;
        let (sender, ended) = oneshot::channel();
        let runtime = runtime()?;
        let listener = {
            let _context = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let thread = spawn("grpc", move || {
            runtime.block_on(async {
                completions.into_iter().map(Completions::run).for_each(|run| drop(tokio::spawn(run)));
                if let Err(error) = server.serve(listener, tls).await {
                    tracing::error!(event = "grpc_failed", %error, "the gRPC listener has failed");
                }
            });
            let _ = sender.send(());
        })?;
        Ok(EdgeThread { thread, ended })
    }
}
