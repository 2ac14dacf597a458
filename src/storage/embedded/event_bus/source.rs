//! The log as a source of events: one part, with a cursor that is kept elsewhere.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::timeout;

use super::EmbeddedLog;
use storage::event_bus::part::{Offsets, Part};
use storage::event_bus::source::{Cursors, EventArchive, EventSource, PartEvents};
use storage::event_bus::{BusError, EventLog, Offset};

/// Events of one batch.
const BATCH_MAX: usize = 1_024;
/// How long it waits for an event before it says that there is none.
const WAIT: Duration = Duration::from_secs(1);

/// Reads the log for one consumer inside the process.
///
/// The part is named after the id of the log: a log that was removed and made anew is another part, whose offsets begin
/// again.
pub struct LogSource {
    log: Arc<EmbeddedLog>,
    cursors: Arc<dyn Cursors>,
    /// The committed offset, once it is known.
    committed: Mutex<Option<(Part, Offset)>>,
}

impl LogSource {
    pub fn new(log: Arc<EmbeddedLog>, cursors: Arc<dyn Cursors>) -> Self {
        LogSource { log, cursors, committed: Mutex::default() }
    }

    /// The part for the log with this id.
    fn part(&self, id: &str) -> Part {
        Part::new(format!("{}@{id}", self.log.topic.name()))
    }

    async fn cursor(&self) -> Result<(Part, Offset), BusError> {
        if let Some(known) = self.committed.lock().clone() {
            return Ok(known);
        }
        let part = self.part(&self.log.read(0, 0).await?.log);
        let kept = self.cursors.cursor(part.clone()).await;
        let offset = kept.map_err(|error| BusError(format!("its cursor cannot be read: {error}")))?;
        Ok(self.committed.lock().get_or_insert((part, offset)).clone())
    }

    async fn read_part(&self, part: &Part, after: Offset, limit: usize) -> Result<PartEvents, BusError> {
        let read = self.log.read(after, limit).await?;
        if self.part(&read.log) != *part {
            return Err(BusError(format!("there is no part {part}")));
        }
        let to = read.events.last().map_or(after, |(offset, _)| *offset);
        let events = read.events.into_iter().map(|(offset, event)| (offset, event.into())).collect();
        Ok(PartEvents { part: part.clone(), events, to, is_end: to >= read.newest })
    }
}

impl EventArchive for LogSource {
    fn has(&self, part: &Part) -> bool {
        part.as_str().strip_prefix(self.log.topic.name()).is_some_and(|rest| rest.starts_with('@'))
    }

    fn ends(&self) -> BoxFuture<'_, Result<Offsets, BusError>> {
        Box::pin(async move {
            let read = self.log.read(0, 0).await?;
            Ok([(self.part(&read.log), read.newest)].into())
        })
    }

    fn before(&self, time: u64) -> BoxFuture<'_, Result<Offsets, BusError>> {
        Box::pin(async move {
            let (log, offset) = self.log.before(time).await?;
            Ok([(self.part(&log), offset)].into())
        })
    }

    fn read(&self, part: Part, after: Offset, limit: usize) -> BoxFuture<'_, Result<PartEvents, BusError>> {
        Box::pin(async move { self.read_part(&part, after, limit).await })
    }
}

impl EventSource for LogSource {
    fn next(&self) -> BoxFuture<'_, Result<Option<PartEvents>, BusError>> {
        Box::pin(async move {
            let (part, after) = self.cursor().await?;
            let mut newest = self.log.newest();
            loop {
                // Before the read: what is published during it is a change.
                newest.mark_unchanged();
                let read = self.read_part(&part, after, BATCH_MAX).await?;
                if !read.events.is_empty() {
                    return Ok(Some(read));
                }
                match timeout(WAIT, newest.changed()).await {
                    Ok(changed) => changed.map_err(|_| BusError("it is closing".to_owned()))?,
                    Err(_) => return Ok(None),
                }
            }
        })
    }

    fn commit(&self, part: Part, offset: Offset) -> BoxFuture<'_, Result<(), BusError>> {
        Box::pin(async move {
            let moved = self.cursors.move_cursor(part.clone(), offset).await;
            moved.map_err(|error| BusError(format!("its cursor cannot be moved: {error}")))?;
            *self.committed.lock() = Some((part, offset));
            Ok(())
        })
    }

    fn lag(&self) -> u64 {
        let committed = self.committed.lock().as_ref().map_or(0, |(_, offset)| *offset);
        self.log.newest().borrow().saturating_sub(committed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::event_bus::ClockCheck;
    use model::cloud_event::{CloudEvent, Data, Source};
    use storage::event_bus::EventTopic;
    use storage::event_bus::config::{Backend, Config};
    use storage::fixtures::publish;
    use storage::store_error::Answer;

    #[derive(Default)]
    struct MemoryCursors(Mutex<BTreeMap<Part, Offset>>);

    impl Cursors for MemoryCursors {
        fn cursor(&self, part: Part) -> Answer<Offset> {
            let at = self.0.lock().get(&part).copied().unwrap_or_default();
            Box::pin(async move { Ok(at) })
        }

        fn move_cursor(&self, part: Part, to: Offset) -> Answer<()> {
            self.0.lock().insert(part, to);
            Box::pin(async { Ok(()) })
        }
    }

    struct Fixture {
        dir: tempfile::TempDir,
        now: Arc<Mutex<u64>>,
        cursors: Arc<MemoryCursors>,
    }

    impl Fixture {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a directory");
            Fixture { dir, now: Arc::new(Mutex::new(1_000)), cursors: Arc::default() }
        }

        fn source(&self) -> LogSource {
            let config = Config {
                event_bus: Backend::Embedded,
                deployment: "local".into(),
                retention: Duration::from_secs(3_600),
                retention_bytes: 1 << 30,
            };
            let (now, wall) = (self.now.clone(), self.now.clone());
            let check = ClockCheck {
                wall_clock: Arc::new(move || *wall.lock()),
                interval: Duration::from_millis(20),
                step_max: Duration::MAX,
            };
            let log =
                EmbeddedLog::open(self.dir.path(), EventTopic::Rewards, &config, Arc::new(move || *now.lock()), check);
            LogSource::new(Arc::new(log.expect("it opens")), self.cursors.clone())
        }
    }

    async fn add(source: &LogSource, ids: &[&str]) {
        let event = |id: &&str| CloudEvent {
            id: (*id).to_owned(),
            source: Source::of("local"),
            kind: "dev.heartline.test.v1",
            subject: "a".into(),
            time: 0,
            partition_key: "a".into(),
            data: Data::of(&()),
        };
        publish(&*source.log, ids.iter().map(event).collect()).await;
    }

    async fn next(source: &LogSource) -> PartEvents {
        source.next().await.expect("it can be read").expect("events")
    }

    fn offsets(read: &PartEvents) -> Vec<Offset> {
        read.events.iter().map(|(offset, _)| *offset).collect()
    }

    #[tokio::test]
    async fn what_is_not_committed_comes_again_also_after_a_restart() {
        let fixture = Fixture::new();
        let source = fixture.source();
        add(&source, &["a", "b"]).await;
        let read = next(&source).await;
        assert_eq!((offsets(&read), read.to, read.is_end), (vec![1, 2], 2, true));
        assert_eq!(next(&source).await, read);
        source.commit(read.part.clone(), 2).await.expect("it is kept");
        add(&source, &["c"]).await;
        assert_eq!((offsets(&next(&source).await), source.lag()), (vec![3], 1));
        drop(source);
        let source = fixture.source();
        assert_eq!(offsets(&next(&source).await), [3]);
    }

    #[tokio::test]
    async fn without_events_it_waits_for_some() {
        let fixture = Fixture::new();
        let source = fixture.source();
        let (read, ()) = tokio::join!(next(&source), async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            add(&source, &["a"]).await;
        });
        assert_eq!(offsets(&read), [1]);
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_while_it_says_that_there_are_no_events() {
        let fixture = Fixture::new();
        let source = fixture.source();
        assert_eq!(source.next().await.expect("it can be read"), None);
        add(&source, &["a"]).await;
        assert_eq!(offsets(&next(&source).await), [1]);
    }

    #[tokio::test]
    async fn a_time_leads_to_the_last_event_before_it() {
        let fixture = Fixture::new();
        let source = fixture.source();
        let before = async |time| source.before(time).await.expect("offsets").into_values().next();
        assert_eq!(before(5_000).await, Some(0));
        for time in [1_000, 2_000, 2_000, 3_000] {
            *fixture.now.lock() = time;
            add(&source, &["a"]).await;
        }
        let expected = [(0, 0), (1_000, 0), (1_001, 1), (2_000, 1), (2_001, 3), (3_000, 3), (3_001, 4)];
        for (time, offset) in expected {
            assert_eq!(before(time).await, Some(offset), "{time}");
        }
        assert_eq!(source.ends().await.expect("offsets").into_values().next(), Some(4));
    }

    #[tokio::test]
    async fn a_part_of_another_log_cannot_be_read() {
        let fixture = Fixture::new();
        let source = fixture.source();
        let other = Part::new("rewards@other");
        assert!(source.read(other, 0, 10).await.is_err());
    }
}
