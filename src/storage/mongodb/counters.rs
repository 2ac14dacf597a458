//! Numbers of counters: read by `_id` or in the order of an index, and dropped by ranges of `_id`.

use std::collections::HashMap;

use mongodb::bson::{Document, doc};

use super::counter_document::{self, COUNTERS, Name, largest_first, numbered_key};
use super::metrics::Request;
use super::read::{DOCUMENTS_MAX, Query};
use super::{Shared, Usable, describe, document, durably};
use model::counters::{CounterId, CounterKey};
use storage::statistics::StatisticsAway;

/// Documents that are removed by one command. Meanwhile the server does other work.
const DROPPED_AT_A_TIME: usize = 1_000;

impl Shared {
    pub async fn counter_values(
        &self,
        generation: u32,
        id: &CounterId,
        keys: &[CounterKey],
    ) -> Result<Vec<i64>, StatisticsAway> {
        let store = self.usable().await?;
        let name = Name::of(generation, id);
        let mut numbers = Vec::with_capacity(keys.len());
        for keys in keys.chunks(DOCUMENTS_MAX) {
            let ids: Vec<String> = keys.iter().map(|key| name.document_id(key)).collect();
            let query = Query::of(COUNTERS, doc! { "_id": { "$in": &ids } }, doc! { "n": 1 });
            let found = self.find(store, Request::Counters, query).await?;
            let mut stored = HashMap::with_capacity(found.len());
            for document in &found {
                stored.insert(document::id(document, COUNTERS)?, counter_document::number(document)?);
            }
            numbers.extend(ids.iter().map(|id| stored.get(id).copied().unwrap_or(0)));
        }
        Ok(numbers)
    }

    pub async fn counter_top(
        &self,
        generation: u32,
        id: &CounterId,
        prefix: &CounterKey,
        limit: usize,
    ) -> Result<Vec<(CounterKey, i64)>, StatisticsAway> {
        let filter = Name::of(generation, id).beginning_with(prefix);
        self.counted(Request::Top, filter, largest_first(), limit).await
    }

    pub async fn counter_page(
        &self,
        generation: u32,
        id: &CounterId,
        after: Option<&CounterKey>,
        limit: usize,
    ) -> Result<Vec<(CounterKey, i64)>, StatisticsAway> {
        let filter = Name::of(generation, id).after(after);
        self.counted(Request::Page, filter, doc! { "_id": 1 }, limit).await
    }

    /// The first documents in an order.
    async fn counted(
        &self,
        request: Request,
        filter: Document,
        order: Document,
        limit: usize,
    ) -> Result<Vec<(CounterKey, i64)>, StatisticsAway> {
        // MongoDB takes 0 for no limit.
        if limit == 0 {
            return Ok(Vec::new());
        }
        let store = self.usable().await?;
        let query = Query::of(COUNTERS, filter, doc! { "k": 1, "n": 1 }).first(limit, order);
        let found = self.find(store, request, query).await?;
        Ok(found.iter().map(numbered_key).collect::<Result<_, _>>()?)
    }

    pub async fn drop_generation(&self, generation: u32) -> Result<(), StatisticsAway> {
        let store = self.usable().await?;
        loop {
            let all = counter_document::of_generation(generation);
            let query = Query::of(COUNTERS, all, doc! { "_id": 1 }).first(DROPPED_AT_A_TIME, doc! { "_id": 1 });
            let found = self.find(store, Request::Drop, query).await?;
            let (Some(first), Some(last)) = (found.first(), found.last()) else { return Ok(()) };
            let ids = doc! { "$gte": document::id(first, COUNTERS)?, "$lte": document::id(last, COUNTERS)? };
            self.delete(store, doc! { "_id": ids }).await?;
        }
    }

    async fn delete(&self, store: &Usable, filter: Document) -> Result<(), StatisticsAway> {
        let collection = store.database.collection::<Document>(COUNTERS);
        let deleted = async {
            let deleted = collection.delete_many(filter).write_concern(durably()).await;
            deleted.map(drop).map_err(|error| describe(&error))
        };
        self.request(Request::Drop, deleted).await
    }
}
