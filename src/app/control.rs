//! The control listener, with the routes of all parts.

use std::io;
use std::net::TcpListener;
use std::thread::JoinHandle;

use axum::Router;
use futures_util::FutureExt;
use futures_util::future::join_all;

use super::operator;
use domain::ingest::submit_queue::Completions;
use edge::control::{self, Control, Guard};
use edge::shutdown::Stop;

/// `completions`: of the changes that come by it.
pub(super) fn start(
    listener: TcpListener,
    control: Control,
    others: Router,
    guard: Guard,
    completions: Vec<Completions>,
    stop: Stop,
) -> io::Result<JoinHandle<()>> {
    let answers = join_all(completions.into_iter().map(Completions::run)).map(drop);
    let router = control::router(control, others, guard);
    operator::start("control", listener, router, operator::CONTROL, answers, stop)
}
