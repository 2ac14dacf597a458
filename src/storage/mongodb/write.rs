//! A flight as `update` commands of many documents each.
//!
//! The driver has no bulk write for servers older than MongoDB 8, so the command is run directly, and the driver does
//! not repeat it. The order of the statements does not matter, and a failed statement does not stop the others.

use std::collections::BTreeSet;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use mongodb::bson::{Document, doc};

use super::changes::{Batch, Change, Changes};
use super::document::{self, VIEW_DAYS, month_ids, number_path};
use super::metrics::Request;
use super::read::Query;
use super::reply::Reply;
use super::{Shared, Usable, describe, write_concern};
use model::ids::Content;
use model::sums::{Flight, Unit};
use storage::statistics::{StatisticsAway, Written};

/// Statements per command. A command is one document of at most 16 MiB, and the largest statement, a counter's key of 8
/// parts of 128 bytes, each encoded as 3, has less than 8 KiB.
pub(super) const BATCH_STATEMENTS_MAX: usize = 1_000;
/// Concurrent commands of one flight, each on its own connection.
const COMMANDS_AT_A_TIME: usize = 4;

/// The part that is the same in all statements of a flight that are sent together.
struct Command<'a> {
    store: &'a Usable,
    collection: &'static str,
    unit: Unit,
    number: i64,
}

impl Shared {
    pub async fn write(&self, flight: &Flight) -> Result<Written, StatisticsAway> {
        let number = i64::try_from(flight.number)
            .map_err(|_| StatisticsAway(format!("it cannot keep the flight number {}", flight.number)))?;
        let store = self.usable().await?;
        let mut changes = Changes::of(flight);
        let cleared = stream::iter(std::mem::take(&mut changes.restarting));
        let cleared = cleared.map(|(content, named)| self.unnamed_months(store, flight, content, named));
        let mut written = Written::default();
        for months in cleared.buffer_unordered(COMMANDS_AT_A_TIME).try_collect::<Vec<_>>().await? {
            written.join(months.written);
            changes.days.extend(months.to_empty);
        }
        let batches = stream::iter(changes.batches(BATCH_STATEMENTS_MAX));
        let batches = batches.map(|batch| self.write_batch(store, batch, flight.unit, number));
        for batch in batches.buffer_unordered(COMMANDS_AT_A_TIME).try_collect::<Vec<_>>().await? {
            written.join(batch);
        }
        Ok(written)
    }

    async fn write_batch(
        &self,
        store: &Usable,
        batch: Batch,
        unit: Unit,
        number: i64,
    ) -> Result<Written, StatisticsAway> {
        let command = Command { store, collection: batch.collection, unit, number };
        let changes: Vec<&Change> = batch.changes.iter().collect();
        let applied = match self.write_together(&command, &changes).await? {
            Some(applied) => applied,
            None => self.write_alone(&command, &changes).await?,
        };
        let written = Written { documents: changes.len(), repeats: changes.len() - applied };
        self.metrics.written(written.documents, written.repeats);
        Ok(written)
    }

    /// How many are applied; the guard has refused the others. `None`: the server has stopped at one of several.
    async fn write_together(
        &self,
        command: &Command<'_>,
        changes: &[&Change],
    ) -> Result<Option<usize>, StatisticsAway> {
        let first = self.update(command, changes).await?;
        if first.is_cut || first.duplicates.is_empty() {
            return Ok((!first.is_cut).then_some(first.applied));
        }
        // Either the guard refused an existing document, or two writers created it at the same time. It exists
        // before the second attempt, so a second refusal can only come from the guard.
        let again: Vec<&Change> = first.duplicates.iter().map(|index| changes[*index]).collect();
        let second = self.update(command, &again).await?;
        Ok((!second.is_cut).then_some(first.applied + second.applied))
    }

    /// How many are applied, each by a command of its own. The guard also refuses those that a command of all has applied.
    async fn write_alone(&self, command: &Command<'_>, changes: &[&Change]) -> Result<usize, StatisticsAway> {
        let mut all = 0;
        for change in changes.chunks(1) {
            let applied = self.write_together(command, change).await?;
            // A server that stops at the only statement has done what it was asked for.
            all += applied.unwrap_or(0);
        }
        Ok(all)
    }

    async fn update(&self, to: &Command<'_>, changes: &[&Change]) -> Result<Reply, StatisticsAway> {
        let Command { store, collection, unit, number } = *to;
        let statements: Vec<Document> = changes.iter().map(|change| change.statement(unit, number)).collect();
        let upserts = changes.iter().filter(|change| change.is_upsert()).count();
        let command = doc! {
            "update": collection, "updates": statements, "ordered": false, "writeConcern": write_concern(),
        };
        let send = async {
            let reply = store.database.run_command(command).await.map_err(|error| describe(&error))?;
            Reply::read(&reply, changes.len(), upserts)
        };
        self.request(Request::Write, send).await
    }

    /// The months of a deleted content that the flight does not name. All of them exist already, since every write that
    /// created one came before this flight began. They are found first and then written by `_id`, because one update of
    /// all of them could miss some while a sharded cluster moves them.
    async fn unnamed_months(
        &self,
        store: &Usable,
        flight: &Flight,
        content: Content,
        named: BTreeSet<String>,
    ) -> Result<Months, StatisticsAway> {
        let (first, beyond) = month_ids(content);
        let filter = doc! { "_id": { "$gte": first, "$lt": beyond } };
        let fields = doc! { number_path(flight.unit): 1 };
        let found = self.find(store, Request::Months, Query::of(VIEW_DAYS, filter, fields)).await?;
        let mut months = Months::default();
        for document in found {
            let id = document::id(&document, VIEW_DAYS)?;
            if named.contains(&id) {
                continue;
            }
            if document::number(&document, flight.unit, VIEW_DAYS)? < flight.number {
                months.to_empty.push(Change::Empty { id });
            } else {
                months.written.join(Written { documents: 1, repeats: 1 });
            }
        }
        self.metrics.written(months.written.documents, months.written.repeats);
        Ok(months)
    }
}

#[derive(Default)]
struct Months {
    to_empty: Vec<Change>,
    /// Months that were emptied before, by this flight or a later one.
    written: Written,
}
