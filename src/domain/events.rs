//! Reads of the event log, with a timeout and an optional wait for new events.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use model::event_page::{EventPage, EventRequest, LogPart};
use storage::event_bus::EventLog;

/// How long a read may take before its asker is told to try again.
const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// The log did not answer, or not in time. Asking again may help.
#[derive(Debug, thiserror::Error)]
#[error("event log unavailable")]
pub struct LogAway;

/// Clones read the same log.
#[derive(Clone)]
pub struct Events {
    log: Arc<dyn EventLog>,
}

impl Events {
    pub fn new(log: Arc<dyn EventLog>) -> Self {
        Events { log }
    }

    /// The events after `request.after`. Without any it waits up to `request.wait` for new events, and returns an empty
    /// page after that or as soon as `end` resolves. An offset beyond the end is answered at once.
    pub async fn page(&self, request: EventRequest, end: impl Future) -> Result<EventPage, LogAway> {
        let EventRequest { after, limit, wait } = request;
        let mut newest = self.log.newest();
        let mut over = pin!(async {
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                _ = end => {}
            }
        });
        loop {
            // Before the read: what is published during it is a change.
            newest.mark_unchanged();
            let part = self.read(after, limit).await?;
            if after > part.newest {
                // Waiting would pass over what the log has, and over what comes until it is as long.
                return Ok(EventPage { part, next: 0, beyond_end: true });
            }
            if let Some((next, _)) = part.events.last() {
                return Ok(EventPage { next: *next, part, beyond_end: false });
            }
            tokio::select! {
                Ok(()) = newest.changed() => {}
                () = &mut over => return Ok(EventPage { part, next: after, beyond_end: false }),
            }
        }
    }

    async fn read(&self, after: u64, limit: usize) -> Result<LogPart, LogAway> {
        match tokio::time::timeout(READ_TIMEOUT, self.log.read(after, limit)).await {
            Ok(Ok(part)) => Ok(part),
            Ok(Err(error)) => {
                tracing::warn!(event = "event_log_read_failed", %error, "event log read failed");
                Err(LogAway)
            }
            Err(_) => {
                tracing::warn!(
                    event = "event_log_read_failed",
                    timeout_seconds = READ_TIMEOUT.as_secs(),
                    "event log read timed out"
                );
                Err(LogAway)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::Instant;

    use super::*;
    use crate::fixtures::MemoryLog;

    fn request(after: u64, wait_ms: u64) -> EventRequest {
        EventRequest { after, limit: 2, wait: Duration::from_millis(wait_ms) }
    }

    fn offsets(page: &EventPage) -> (Vec<u64>, u64) {
        (page.part.events.iter().map(|(offset, _)| *offset).collect(), page.next)
    }

    #[tokio::test(start_paused = true)]
    async fn events_that_are_there_are_returned_at_once() {
        let events = Events::new(MemoryLog::with(3));
        let began = Instant::now();
        let page = async |after| offsets(&events.page(request(after, 5_000), pending::<()>()).await.expect("a page"));
        assert_eq!((page(0).await, page(2).await), ((vec![1, 2], 2), (vec![3], 3)));
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn without_events_a_request_waits_for_the_given_time() {
        let events = Events::new(MemoryLog::with(3));
        for wait in [0, 5_000] {
            let began = Instant::now();
            let page = events.page(request(3, wait), pending::<()>()).await.expect("a page");
            assert_eq!((offsets(&page), began.elapsed()), ((vec![], 3), Duration::from_millis(wait)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_offset_beyond_the_end_is_answered_at_once() {
        let events = Events::new(MemoryLog::with(3));
        let began = Instant::now();
        let page = events.page(request(4, 5_000), pending::<()>()).await.expect("a page");
        assert!(page.beyond_end && offsets(&page) == (vec![], 0) && page.part.newest == 3, "{page:?}");
        assert_eq!(began.elapsed(), Duration::ZERO);
        let page = events.page(request(3, 0), pending::<()>()).await.expect("a page");
        assert!(!page.beyond_end, "that is the end");
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_event_or_a_drain_ends_the_wait() {
        let log = MemoryLog::with(0);
        let events = Events::new(log.clone());
        let add_later = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            log.add();
        };
        let began = Instant::now();
        let (page, ()) = tokio::join!(events.page(request(0, 5_000), pending::<()>()), add_later);
        assert_eq!(offsets(&page.expect("a page")), (vec![1], 1));
        let end = tokio::time::sleep(Duration::from_secs(1));
        assert_eq!(offsets(&events.page(request(1, 5_000), end).await.expect("a page")), (vec![], 1));
        assert_eq!(began.elapsed(), Duration::from_secs(2));
    }

    #[tokio::test]
    async fn an_unavailable_log_is_an_error() {
        let log = MemoryLog::with(1);
        *log.away.lock() = true;
        assert!(Events::new(log).page(request(0, 0), pending::<()>()).await.is_err());
    }
}
