//! The gRPC listener, on a thread of its own.

use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::assembly::Assembly;
use super::common::Common;
use super::edges::Edge;
use super::error::StartError;
use super::rewards::Calendar;
use super::spawn::{runtime, spawn};
use super::threads::EdgeThread;
use crate::config::Config;
use domain::counters::Counters;
use domain::devices::gateways::Gateways;
use domain::ingest::health::StoreHealth;
use domain::ingest::submit_queue::Completions;
use domain::revocations::Revocations;
use domain::stored_users::Users;
use edge::called_users::CalledUsers;
use edge::grpc::connection::Patience;
use edge::grpc::gateways::{Backing, GatewayService, Routes, StoreState};
use edge::grpc::server::GrpcServer;
use edge::listener::{Tls, bind_one};
use model::rewards::rule::Per;

/// A port that is bound, and the certificate with which it is served.
pub(super) struct GrpcListener {
    pub address: SocketAddr,
    pub tls: Option<Arc<Tls>>,
    listener: StdListener,
}

/// The service on the gRPC port.
pub(super) struct Grpc {
    listener: GrpcListener,
    server: GrpcServer,
    completions: Vec<Completions>,
}

/// `store`: tells the store from others.
pub(super) fn backing(store: String, calendar: &Calendar, config: &Config) -> Backing {
    let has = |per| !calendar.rules.per(per).is_empty();
    let settings = Arc::new(config.alike.clone());
    Backing { store, rules_per_user: has(Per::User), rules_per_content: has(Per::Content), settings }
}

/// The parts that gateways without a store need of the process.
pub(super) struct Peers {
    pub gateways: Arc<Gateways>,
    pub revocations: Arc<Revocations>,
    pub backing: Backing,
    pub health: Arc<StoreHealth>,
    pub counters: Arc<Counters>,
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
        Peers { gateways, revocations, backing, health, counters }: Peers,
        common: &Common,
        assembly: &mut Assembly,
    ) -> Self {
        let users = Users { store: common.hot.clone(), clock: common.clock.clone(), cold: common.cold.clone() };
        gateways.register(assembly.metrics());
        let store = StoreState { health, clock_status: common.clock_status.clone() };
        let called_users = CalledUsers(common.names.clone());
        let routes = Routes::new(context.clone(), counters, common.key_names());
        let service = GatewayService { context, users, called_users, gateways, revocations, backing, store, routes };
        let patience = Patience { handshake: config.server.handshake_timeout, idle: config.server.keep_alive };
        let calls_max = config.limits.grpc_calls;
        let server = GrpcServer::new(service, &config.grpc, patience, calls_max, assembly.metrics());
        Grpc { listener, server, completions }
    }

    /// The line to print, so that a script knows where it is.
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
