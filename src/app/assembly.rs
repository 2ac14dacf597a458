//! The contributions of the parts of a gateway, collected while they are built.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use axum::Router;
use futures_util::future::BoxFuture;
use prometheus_client::registry::Registry;

use super::error::StartError;
use super::redis_certificates::RedisCertificates;
use crate::telemetry::log_writer::LogWriter;
use crate::telemetry::metrics;
use domain::commit_listener::CommitListener;
use edge::admin::Degraded;

/// Starts a thread when everything is built. The end waits for the thread if its handle is returned.
pub(super) type StartThread = Box<dyn FnOnce() -> io::Result<Option<JoinHandle<()>>>>;

/// Makes pages when everything is registered, so that they can show what is counted.
pub(super) type MakePages = Box<dyn FnOnce(&Arc<Registry>) -> Router>;

/// Nothing of it runs before all parts are built.
pub(super) struct Assembly {
    pub registry: Registry,
    /// They learn of each commit.
    pub commit_listeners: Vec<Arc<dyn CommitListener>>,
    /// The complaints on `/readyz` of a gateway that is ready.
    pub degraded: Vec<Degraded>,
    /// Routes of the control listener, beside its own.
    pub control: Router,
    /// Pages of the public listener, beside what every gateway serves.
    pub pages: Vec<MakePages>,
    /// Tasks of the main thread, which run until the process ends.
    pub background: Vec<BoxFuture<'static, ()>>,
    pub threads: Vec<StartThread>,
    /// Those of a process without sockets, if there are any.
    #[cfg_attr(not(feature = "fleet"), expect(dead_code, reason = "only a fleet has a Redis"))]
    pub redis_certificates: Option<Arc<RedisCertificates>>,
    /// Each resolves when the process has to be started again, to the reason. What was received is served before.
    pub ends: Vec<BoxFuture<'static, StartError>>,
}

impl Assembly {
    /// `log`: counts the lines that it drops.
    pub fn new(log: &LogWriter) -> Self {
        let mut registry = metrics::registry();
        log.register(metrics::part(&mut registry));
        Assembly {
            registry,
            commit_listeners: Vec::new(),
            degraded: Vec::new(),
            control: Router::new(),
            pages: Vec::new(),
            background: Vec::new(),
            threads: Vec::new(),
            redis_certificates: None,
            ends: Vec::new(),
        }
    }

    /// Where a part registers what it counts.
    pub fn metrics(&mut self) -> &mut Registry {
        metrics::part(&mut self.registry)
    }

    pub fn serve_control(&mut self, routes: Router) {
        self.control = std::mem::take(&mut self.control).merge(routes);
    }
}
