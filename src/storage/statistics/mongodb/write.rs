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
use super::{Shared, Usable, told, write_concern};
use crate::model::ids::Content;
use crate::model::sums::{Flight, Unit};
use crate::storage::statistics::{StatisticsAway, Written};

/// Statements per command. A command is one document of at most 16 MiB, and the largest statement, a counter's key of 8
/// parts of 128 bytes, each encoded as 3, has less than 8 KiB.
pub(super) const BATCH_STATEMENTS_MAX: usize = 1_000;
/// Concurrent commands of one flight, each on its own connection.
const COMMANDS_AT_A_TIME: usize = 4;

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
        let changes: Vec<&Change> = batch.changes.iter().collect();
        let first = self.update(store, batch.collection, &changes, unit, number).await?;
        let mut applied = first.applied;
        if !first.duplicates.is_empty() {
            // Either the guard refused an existing document, or two writers created it at the same time. It exists
            // before the second attempt, so a second refusal can only come from the guard.
            let again: Vec<&Change> = first.duplicates.iter().map(|place| changes[*place]).collect();
            applied += self.update(store, batch.collection, &again, unit, number).await?.applied;
        }
        let written = Written { documents: changes.len(), repeats: changes.len() - applied };
        self.metrics.written(written.documents, written.repeats);
        Ok(written)
    }

    async fn update(
        &self,
        store: &Usable,
        collection: &'static str,
        changes: &[&Change],
        unit: Unit,
        number: i64,
    ) -> Result<Reply, StatisticsAway> {
        let statements: Vec<Document> = changes.iter().map(|change| change.statement(unit, number)).collect();
        let upserts = changes.iter().filter(|change| change.is_upsert()).count();
        let command = doc! {
            "update": collection, "updates": statements, "ordered": false, "writeConcern": write_concern(),
        };
        let send = async {
            let reply = store.database.run_command(command).await.map_err(|error| told(&error))?;
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
