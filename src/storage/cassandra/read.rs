//! A user's partition, read whole.

use futures_util::stream::TryStreamExt;
use tokio::time::{Instant, timeout};

use super::metrics::Operation;
use super::statements::{Selected, signed, unsigned};
use super::{READ_TIMEOUT, Shared};
use model::beat::State;
use model::ids::{Content, SessionId, UserId};
use model::pack::{PackedForgetting, PackedRecord, PackedRow};
use model::recording::Switch;
use model::version::Version;
use storage::history_store::{HistoryAway, HistoryUser};

impl Shared {
    pub async fn read(&self, user: UserId, now: u64) -> Result<HistoryUser, HistoryAway> {
        let _permit = self.requests.acquire().await;
        let begun = Instant::now();
        let found = timeout(READ_TIMEOUT, self.find(user)).await;
        let found = found.unwrap_or_else(|_| Err(format!("a user was not read in {READ_TIMEOUT:?}")));
        match found {
            Ok((forgetting, rows)) => {
                self.metrics.answered(Operation::Read, begun.elapsed());
                Ok(HistoryUser::seen(forgetting, rows, self.retention, now))
            }
            Err(error) => {
                self.metrics.failed(Operation::Read);
                Err(HistoryAway(error))
            }
        }
    }

    /// Reads all pages. Each page has the clears and pauses at the time of its read: the newest ones apply.
    async fn find(&self, user: UserId) -> Result<(Option<PackedForgetting>, Vec<PackedRow>), String> {
        let found = self.session.execute_iter(self.statements.select.clone(), (signed(user.0),)).await;
        let mut found =
            found.map_err(|error| error.to_string())?.rows_stream::<Selected>().map_err(|error| error.to_string())?;
        let (mut forgetting, mut rows) = (None::<PackedForgetting>, Vec::new());
        while let Some(mut selected) = found.try_next().await.map_err(|error| error.to_string())? {
            let version = selected.forgotten.map(version);
            if version > forgetting.as_ref().map(|known| known.version) {
                forgetting = selected.forgetting();
            }
            if selected.kind.is_some() {
                let row = selected.row();
                rows.push(row.ok_or_else(|| format!("a row of user {} cannot be understood", user.0))?);
            }
        }
        Ok((forgetting, rows))
    }
}

fn version(number: i64) -> Version {
    Version(unsigned(number))
}

impl Selected {
    /// The columns are written together, so one tells of all.
    fn forgetting(&mut self) -> Option<PackedForgetting> {
        let version = version(self.forgotten?);
        let switches = self.switches.take().unwrap_or_default();
        let switches = switches.into_iter().map(|(at, paused)| Switch { at: unsigned(at), paused }).collect();
        let (watermark, floor) = (unsigned(self.watermark.unwrap_or(0)), unsigned(self.floor.unwrap_or(0)));
        Some(PackedForgetting { watermark, floor, switches, version })
    }

    fn row(self) -> Option<PackedRow> {
        let content = Content { kind: u16::try_from(self.kind?).ok()?, oid: unsigned(self.oid?) };
        let (tombstone, version) = (unsigned(self.tombstone?), version(self.version?));
        let record = match self.at {
            None => None,
            Some(at) => Some(PackedRecord {
                pos: unsigned(self.pos?),
                dur: unsigned(self.dur?),
                state: State::of_number(u8::try_from(self.state?).ok()?)?,
                session: SessionId(unsigned(self.session?)),
                device: self.device?.into(),
                watched: unsigned(self.watched?),
                at: unsigned(at),
            }),
        };
        Some(PackedRow { content, record, tombstone, version })
    }
}
