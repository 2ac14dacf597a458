//! A gateway that misbehaves on a schedule, and a judge of the client at its other end.
//!
//! ```text
//! harness ─ GET /conformance/next ─▶ worker ◀─ instructions ─ scenario ─ behavior ─▶ gateway of its user
//! client  ─ socket, requests ─────────────────────────────────────────────────────▶ gateway ─ log ─▶ scenario: verdicts
//! ```
//!
//! A [`scenario`] has a user of its own, so that several are played side by side. It reads the log as raw JSON: the
//! types of the real gateway would forgive what a client leaves out. Everything runs on one thread.

mod answer;
mod beat;
mod behavior;
mod everywhere;
mod frame;
mod gateway;
mod kit;
mod log;
mod number;
mod outgoing;
mod records;
pub mod report;
mod requests;
pub mod rule;
mod scenario;
pub mod scenarios;
pub mod selection;
mod server;
mod socket;
mod stage;
mod tokens;
mod upgrade;
mod worker;

use std::rc::Rc;

use tokio::net::TcpListener;
use tokio::task::LocalSet;

use kit::Kit;
use report::Report;
use selection::Selection;

/// Plays the selected scenarios with every worker that asks, until all are played, the harness has gone, or
/// `interrupted` resolves. `progress` is told a line for each scenario.
pub async fn judge(
    listener: TcpListener,
    seed: u64,
    selection: Selection,
    progress: Box<dyn Fn(&str)>,
    interrupted: impl Future<Output = ()>,
) -> Report {
    let kit = Rc::new(Kit::new(seed, selection, progress));
    let server = server::serve(listener, kit.clone());
    let until = async {
        tokio::select! {
            () = kit.end() => {}
            () = interrupted => {}
            () = server => {}
        }
    };
    LocalSet::new().run_until(until).await;
    kit.report()
}
