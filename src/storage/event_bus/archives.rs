//! Several archives as one.

use std::sync::Arc;

use futures_util::future::{BoxFuture, try_join_all};

use super::part::{Offsets, Part};
use super::source::{EventArchive, PartEvents};
use super::{BusError, Offset};

/// The archives of several topics. Each part belongs to one of them.
pub struct Archives(Vec<Arc<dyn EventArchive>>);

impl Archives {
    pub fn of(archives: Vec<Arc<dyn EventArchive>>) -> Self {
        Archives(archives)
    }
}

impl EventArchive for Archives {
    fn has(&self, part: &Part) -> bool {
        self.0.iter().any(|archive| archive.has(part))
    }

    fn ends(&self) -> BoxFuture<'_, Result<Offsets, BusError>> {
        Box::pin(async move { Ok(joined(try_join_all(self.0.iter().map(|archive| archive.ends())).await?)) })
    }

    fn before(&self, time: u64) -> BoxFuture<'_, Result<Offsets, BusError>> {
        Box::pin(async move { Ok(joined(try_join_all(self.0.iter().map(|archive| archive.before(time))).await?)) })
    }

    fn read(&self, part: Part, after: Offset, limit: usize) -> BoxFuture<'_, Result<PartEvents, BusError>> {
        match self.0.iter().find(|archive| archive.has(&part)) {
            Some(archive) => archive.read(part, after, limit),
            None => Box::pin(async move { Err(BusError(format!("there is no part {part}"))) }),
        }
    }
}

fn joined(offsets: Vec<Offsets>) -> Offsets {
    offsets.into_iter().flatten().collect()
}
