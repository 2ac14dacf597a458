//! A process without sockets for clients: probes, and one part that works until a signal.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use futures_util::future::BoxFuture;

use super::super::assembly::Assembly;
use super::super::error::StartError;
use super::super::reload::{self, Files};
use super::super::role::Role;
use super::super::spawn::{runtime, spawn};
use super::super::{announcement, descriptors, ends, operator};
use crate::config::Config;
use crate::telemetry::log_writer::LogWriter;
use edge::admin::router;
use edge::admin::sockless::SocklessAdmin;
use edge::listener::bind_one;
use edge::shutdown::{Shutdown, Signals, Stop};

/// Opens the part of this role, and runs it. What can go wrong at the start goes wrong before it is said to run.
pub(super) fn serve<P>(
    config: &Config,
    signals: &Signals,
    log: &LogWriter,
    role: Role,
    open: impl FnOnce(&mut Assembly) -> Result<P, StartError>,
    run: impl FnOnce(P, &Stop) -> io::Result<()>,
) -> Result<(), StartError> {
    let address = config.admin.listen;
    let listener = StartError::binding("admin.listen", address, bind_one(address))?;
    let admin = StartError::address(&listener)?;
    let shutdown = Arc::new(Shutdown::new(config.server.drain_timeout));
    let (mut assembly, stop, files) = (Assembly::new(log), shutdown.stop(), Files::of_redis(config));
    let part = open(&mut assembly)?;
    let reload = match assembly.redis_certificates.take() {
        Some(certificates) => {
            let of_probes = certificates.clone();
            assembly.degraded.push(Box::new(move || of_probes.degraded().into_iter().collect()));
            reload::of_redis_alone(config, files, certificates, stop.clone()).map_err(StartError::Process)?
        }
        None => Box::new(|| {}),
    };
    signals.lead(&shutdown, reload);
    let Assembly { registry, degraded, ends, .. } = assembly;
    let router = router(SocklessAdmin { stop: stop.clone(), degraded, registry });
    let nothing = std::future::ready(());
    let probes = operator::start("probes", listener, router, operator::PROBES, nothing, stop.clone());
    let probes = probes.map_err(StartError::Process)?;
    descriptors::raise_limit();
    tracing::info!(event = "listening", %admin, "listening");
    let said = format!("heartline {} is running (admin http://{admin})\n", role.name());
    announcement::print(said).map_err(StartError::Process)?;
    let ended = follow(ends, shutdown.clone()).map_err(StartError::Process)?;
    let ran = run(part, &stop);
    shutdown.finish();
    let (ended, probed) = (ended.join(), probes.join());
    if ended.is_err() || probed.is_err() {
        tracing::error!(event = "thread_panicked", "a thread panicked");
    }
    ran.map_err(StartError::Process)?;
    ended.ok().flatten().map_or(Ok(()), Err)
}

/// Ends with the process, or before it with the reason why it has to be started again.
fn follow(
    ends: Vec<BoxFuture<'static, StartError>>,
    shutdown: Arc<Shutdown>,
) -> io::Result<JoinHandle<Option<StartError>>> {
    let (runtime, stopped) = (runtime()?, shutdown.stop().stopped());
    spawn("ends", move || {
        runtime.block_on(async {
            tokio::select! {
                why = ends::first(ends, &shutdown) => Some(why),
                () = stopped => None,
            }
        })
    })
}
