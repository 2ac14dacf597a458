//! `heartline events`: prints the events of the control listener's `/v1/events`.
//!
//! Each line is written with one call and is shorter than an atomic write to a pipe, so a reader gets whole lines
//! however the command ends.

use std::io::{self, Write};
use std::num::NonZeroU64;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::signal::unix::{SignalKind, signal};

use super::gateway::{self, Gateway, GatewayError};
use crate::config::Config;
use model::backoff::Backoff;
use model::event_page::EventRequest;
use model::event_topic::EventTopic;

/// The time for an answer of a running gateway, beside the requested wait.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
const RETRY_MIN: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(2);

/// Which events are printed.
#[derive(Clone, Copy, Debug)]
pub struct EventsOptions {
    pub topic: EventTopic,
    /// Events after this offset.
    pub after: u64,
    /// The most events to print.
    pub limit: Option<NonZeroU64>,
    /// Also prints new events, until a signal.
    pub follow: bool,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    events: Vec<Line<'a>>,
    // Gateways of earlier versions do not send these fields.
    #[serde(default)]
    log: Option<&'a str>,
    #[serde(default)]
    newest: u64,
    #[serde(default)]
    beyond_end: bool,
}

#[derive(Deserialize, Serialize)]
struct Line<'a> {
    offset: u64,
    #[serde(borrow)]
    event: &'a RawValue,
}

/// Prints events to standard output. A reader that goes away and a signal end the command with success. With `follow`
/// it waits for a gateway that does not answer, and says so once on standard error.
pub fn print(config: &Config, wanted: EventsOptions) -> Result<(), GatewayError> {
    Gateway::control(config)?;
    end_at_signals()?;
    match gateway::runtime()?.block_on(tail(config, wanted, &mut io::stdout())) {
        Err(GatewayError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

async fn tail(config: &Config, wanted: EventsOptions, out: &mut impl Write) -> Result<(), GatewayError> {
    let EventsOptions { topic, mut after, limit, follow } = wanted;
    let mut left = limit.map_or(u64::MAX, NonZeroU64::get);
    let mut backoff = Backoff::new(RETRY_MIN, RETRY_MAX);
    let mut known: Option<String> = None;
    while left > 0 {
        // Read again each time, since a gateway that is started later creates its token then.
        let gateway = Gateway::control(config)?;
        let limit = left.min(EventRequest::LIMIT_MAX as u64);
        let wait = if follow { EventRequest::WAIT_MAX } else { Duration::ZERO };
        let path = format!("/v1/events?log={}&after={after}&limit={limit}&wait={}", topic.name(), wait.as_millis());
        let body = match gateway.get(&path, wait + ANSWER_TIMEOUT).await {
            Err(away @ (GatewayError::Away(..) | GatewayError::Unavailable(..))) if follow => {
                if backoff.failures() == 0 {
                    eprintln!("heartline: {away} Waiting for it.");
                }
                tokio::time::sleep(backoff.failed()).await;
                continue;
            }
            asked => asked?,
        };
        backoff.succeeded();
        let page: Page = serde_json::from_slice(&body).map_err(|error| gateway.strange(&error))?;
        if page.beyond_end && !follow {
            return Err(GatewayError::BeyondEnd(after, page.newest));
        }
        let another = page.log.is_some() && known.is_some() && page.log != known.as_deref();
        known = page.log.map(str::to_owned);
        if another || page.beyond_end {
            eprintln!("heartline: the log id has changed; reading the log from its start");
            after = 0;
            continue;
        }
        if page.events.is_empty() {
            if !follow {
                return Ok(());
            }
            // A draining gateway does not hold the request open.
            tokio::time::sleep(RETRY_MIN).await;
        }
        for line in page.events.into_iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
            if line.offset <= after {
                return Err(gateway.strange(&format!("offset {} after {after}", line.offset)));
            }
            let mut text = serde_json::to_vec(&line).map_err(|error| GatewayError::Output(error.into()))?;
            text.push(b'\n');
            out.write_all(&text).map_err(GatewayError::Output)?;
            (after, left) = (line.offset, left - 1);
        }
        out.flush().map_err(GatewayError::Output)?;
    }
    Ok(())
}

/// Waits for signals on a separate thread, since printing blocks on the reader.
fn end_at_signals() -> Result<(), GatewayError> {
    let runtime = gateway::runtime()?;
    let signals = || {
        let _context = runtime.enter();
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        kinds.into_iter().map(signal).collect::<io::Result<Vec<_>>>()
    };
    let mut signals = signals().map_err(GatewayError::Process)?;
    let wait = move || {
        let any = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
        runtime.block_on(futures_util::future::select_all(any));
        std::process::exit(0);
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(GatewayError::Process)?;
    Ok(())
}
