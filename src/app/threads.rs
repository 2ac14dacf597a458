//! The threads: one runtime per edge thread, one for commits, one for the relay of events and the shutdown.

use std::future::{Future, pending};
use std::io;
use std::net::TcpListener as StdListener;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, select_all};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::edges::Edge;
use super::ends;
use super::error::StartError;
use super::lanes::Commits;
use super::spawn::{runtime, spawn};
use domain::ingest::submit_queue::Completions;
use domain::ingest::watch::Watch;
use edge::config::ServerConfig;
use edge::http;
use edge::listener::{self, HttpTimeouts, ListenerContext, Proxies, Tls};
use edge::shutdown::{Shutdown, Stop};
use storage::hot_store::StoreError;
use storage::outbox::Outbox;

/// How long sockets have to say goodbye when the store has failed: there is nothing left to wait for.
const GOODBYE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// How long the end waits for the events of the last claims. What is not published by then is at the next start.
const LAST_EVENTS_MAX: Duration = Duration::from_secs(2);

/// Commits of all lanes, on a thread of its own: a store may block it.
pub(super) struct CommitThread {
    thread: JoinHandle<()>,
    failed: oneshot::Receiver<StoreError>,
    watch: Watch,
}

/// Serves connections.
pub(super) struct EdgeThread {
    pub thread: JoinHandle<()>,
    pub ended: oneshot::Receiver<()>,
}

impl CommitThread {
    pub fn start(Commits { committers, watch }: Commits, stop: Stop) -> io::Result<Self> {
        let runtime = runtime()?;
        let (sender, failed) = oneshot::channel();
        let run = async move {
            tokio::select! {
                (failure, ..) = select_all(committers.into_iter().map(|committer| Box::pin(committer.run()))) => {
                    // The main thread is told; nothing else waits for it.
                    let _ = sender.send(failure);
                }
                () = stop.stopped() => {}
            }
        };
        let thread = spawn("commit", move || runtime.block_on(run))?;
        Ok(CommitThread { thread, failed, watch })
    }
}

impl EdgeThread {
    pub fn start(
        listener: StdListener,
        Edge { context, completions }: Edge,
        pages: Option<Router>,
        tls: Option<Arc<Tls>>,
        config: &ServerConfig,
    ) -> io::Result<Self> {
        let (sender, ended) = oneshot::channel();
        let proxies = Proxies::new(config);
        let timeouts = HttpTimeouts {
            handshake: config.handshake_timeout,
            request: config.request_timeout,
            keep_alive: config.keep_alive,
        };
        let serve = async move || {
            let listener = TcpListener::from_std(listener)?;
            completions.into_iter().map(Completions::run).for_each(|run| drop(tokio::task::spawn_local(run)));
            let router = http::router(context.clone());
            let router = match pages {
                Some(pages) => router.merge(pages),
                None => router,
            };
            let listener_context = ListenerContext { router, proxies, tls, timeouts };
            let stopped = context.stop.stopped();
            tokio::select! {
                () = listener::serve(listener, context, listener_context) => {}
                () = stopped => {}
            }
            Ok::<_, io::Error>(())
        };
        let thread = spawn("edge", move || {
            let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
            if let Err(error) = runtime.and_then(|runtime| runtime.block_on(serve())) {
                tracing::error!(event = "edge_thread_failed", %error, "edge thread failed to start");
            }
            let _ = sender.send(());
        })?;
        Ok(EdgeThread { thread, ended })
    }
}

/// Why nothing is served any more.
enum End {
    /// As a signal asked for, or at the deadline.
    Drained,
    /// The process has to be started again.
    Ended(StartError),
    StoreFailed(StoreError),
}

/// Publishes events until all edge threads have ended, in their own time or at the deadline; then ends the others.
pub(super) fn lead(
    shutdown: &Shutdown,
    others: Vec<JoinHandle<()>>,
    background: Vec<BoxFuture<'static, ()>>,
    outbox: Option<&dyn Outbox>,
    edges: Vec<EdgeThread>,
    commit: CommitThread,
    ends: Vec<BoxFuture<'static, StartError>>,
) -> Result<(), StartError> {
    let (threads, ended): (Vec<_>, Vec<_>) = edges.into_iter().map(|edge| (edge.thread, edge.ended)).unzip();
    let runtime = runtime().map_err(StartError::Process)?;
    let end = runtime.block_on(async {
        background.into_iter().map(logged).map(tokio::spawn).for_each(drop);
        let all_ended = futures_util::future::join_all(ended);
        let end = wait(shutdown, all_ended, commit.failed, commit.watch, ends).await;
        if let (End::Drained | End::Ended(_), Some(outbox)) = (&end, outbox) {
            empty(outbox).await;
        }
        end
    });
    shutdown.finish();
    // A store that has failed may hold up its threads for ever.
    let others = (!matches!(end, End::StoreFailed(_))).then(|| others.into_iter().chain([commit.thread]));
    for thread in threads.into_iter().chain(others.into_iter().flatten()) {
        if thread.join().is_err() {
            tracing::error!(event = "thread_panicked", "a thread panicked");
        }
    }
    match end {
        End::Drained => Ok(()),
        End::Ended(why) => Err(why),
        End::StoreFailed(failure) => Err(StartError::StoreFailed(failure)),
    }
}

/// Logs a panic of `task`: the gateway goes on without it.
async fn logged(task: BoxFuture<'static, ()>) {
    if AssertUnwindSafe(task).catch_unwind().await.is_err() {
        tracing::error!(event = "thread_panicked", "a background task panicked; restart the gateway");
    }
}

async fn wait(
    shutdown: &Shutdown,
    all_ended: impl Future,
    failed: oneshot::Receiver<StoreError>,
    watch: Watch,
    ends: Vec<BoxFuture<'static, StartError>>,
) -> End {
    let failed = async {
        tokio::select! {
            // Nothing else ends the commit thread before the edges have ended.
            failure = failed => failure.unwrap_or_else(|_| StoreError::Failed("the commit thread panicked".to_owned())),
            failure = watch.run() => failure,
        }
    };
    let stop = shutdown.stop();
    let past_deadline = async { tokio::time::sleep_until(stop.draining().await).await };
    // After a signal it is as good as over.
    let ended = async {
        tokio::select! {
            why = ends::first(ends, shutdown) => why,
            () = stop.ending() => pending().await,
        }
    };
    let (mut all_ended, mut past_deadline) = (pin!(all_ended), pin!(past_deadline));
    let (mut failed, mut ended, mut end) = (pin!(failed), pin!(ended), End::Drained);
    loop {
        tokio::select! {
            _ = &mut all_ended => return end,
            () = &mut past_deadline => {
                tracing::warn!(event = "drain_timeout", "server.drain_timeout passed; closing the remaining connections");
                return end;
            }
            why = &mut ended, if matches!(end, End::Drained) => end = End::Ended(why),
            failure = &mut failed => {
                shutdown.drain();
                tokio::time::sleep(GOODBYE_AFTER_FAILURE).await;
                return End::StoreFailed(failure);
            }
        }
    }
}

/// Gives what was claimed last the time to be published.
async fn empty(outbox: &dyn Outbox) {
    let emptied = async {
        while outbox.own() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    if timeout(LAST_EVENTS_MAX, emptied).await.is_err() {
        tracing::warn!(
            event = "outbox_not_empty",
            entries = outbox.own(),
            "unpublished events stay in the outbox until the next start"
        );
    }
}
