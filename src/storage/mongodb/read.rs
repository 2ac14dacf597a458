//! Totals and days, by the `_id` of their documents.

use std::collections::HashMap;

use futures_util::TryStreamExt;
use mongodb::bson::{Document, doc};

use super::document::{self, Month, VIEW_DAYS, VIEWS, month_id, number_path, views_id};
use super::metrics::Request;
use super::{READ_TIMEOUT, Shared, Usable, describe, newest};
use model::ids::Content;
use model::rewards::day::Day;
use model::sums::{StoredTotal, Unit};
use storage::statistics::StatisticsAway;

/// Documents per request.
pub(super) const DOCUMENTS_MAX: usize = 500;

/// A question to a collection.
pub(super) struct Query {
    collection: &'static str,
    filter: Document,
    /// Those that are answered, and `_id`.
    fields: Document,
    order: Option<Document>,
    limit: Option<i64>,
}

impl Query {
    pub fn of(collection: &'static str, filter: Document, fields: Document) -> Self {
        Query { collection, filter, fields, order: None, limit: None }
    }

    /// Only the first ones in this order. `limit`: not 0.
    pub fn first(self, limit: usize, order: Document) -> Self {
        Query { limit: Some(i64::try_from(limit).unwrap_or(i64::MAX)), order: Some(order), ..self }
    }
}

impl Shared {
    pub async fn totals(&self, unit: Unit, contents: &[Content]) -> Result<Vec<StoredTotal>, StatisticsAway> {
        let store = self.usable().await?;
        let mut totals = Vec::with_capacity(contents.len());
        for contents in contents.chunks(DOCUMENTS_MAX) {
            let ids: Vec<String> = contents.iter().copied().map(views_id).collect();
            let fields = doc! { "total": 1, number_path(unit): 1 };
            let query = Query::of(VIEWS, doc! { "_id": { "$in": &ids } }, fields);
            let found = self.find(store, Request::Totals, query).await?;
            let mut stored = HashMap::with_capacity(found.len());
            for document in &found {
                stored.insert(document::id(document, VIEWS)?, document::stored_total(document, unit)?);
            }
            totals.extend(ids.iter().map(|id| stored.get(id).copied().unwrap_or_default()));
        }
        Ok(totals)
    }

    pub async fn days(&self, content: Content, from: Day, to: Day) -> Result<Vec<(Day, u64)>, StatisticsAway> {
        let store = self.usable().await?;
        let months: Vec<Month> = Month::between(from, to).collect();
        let mut days = Vec::new();
        for months in months.chunks(DOCUMENTS_MAX) {
            let ids: Vec<String> = months.iter().map(|month| month_id(content, *month)).collect();
            let query = Query::of(VIEW_DAYS, doc! { "_id": { "$in": &ids } }, doc! { "days": 1 });
            for document in self.find(store, Request::Days, query).await? {
                let id = document::id(&document, VIEW_DAYS)?;
                let month = id.rsplit(':').next().unwrap_or_default();
                days.extend(document::days(&document, month)?);
            }
        }
        days.retain(|(day, _)| (from..=to).contains(day));
        days.sort_unstable();
        Ok(days)
    }

    pub(super) async fn find(
        &self,
        store: &Usable,
        request: Request,
        query: Query,
    ) -> Result<Vec<Document>, StatisticsAway> {
        let Query { collection, filter, fields, order, limit } = query;
        let collection = store.database.collection::<Document>(collection);
        let found = async {
            let mut asked = collection.find(filter).projection(fields).batch_size(DOCUMENTS_MAX as u32);
            if let Some(order) = order {
                asked = asked.sort(order);
            }
            if let Some(limit) = limit {
                asked = asked.limit(limit);
            }
            let asked = asked.max_time(READ_TIMEOUT).read_concern(store.reads.clone()).selection_criteria(newest());
            asked.await?.try_collect().await
        };
        self.request(request, async { found.await.map_err(|error| describe(&error)) }).await
    }
}
