//! Checks of a MongoDB before it is used: its deployment, and collections that keep the numbers of flights.
//!
//! Requests go by `_id`, which has an index in every collection. Only the largest numbers of a counter need another
//! index, which is made here if it is missing. Other indexes do no harm, with two exceptions: a unique index refuses
//! documents as if they existed already, and an index that expires documents removes their numbers with them.

use futures_util::TryStreamExt;
use mongodb::bson::{Bson, Document, doc};
use mongodb::options::ReadConcern;
use mongodb::{Database, IndexModel};

use super::counter_document::{COUNTERS, largest_first};
use super::document::{VIEW_DAYS, VIEWS, whole};
use super::refused::{Refusal, describe};
use super::reply::Reply;
use super::{READ_TIMEOUT, durably, newest};

/// The collection whose document `deployment` names the owner of the database.
pub(super) const META: &str = "meta";
const FORMAT: i32 = 1;
const COLLECTIONS: [&str; 4] = [META, VIEWS, VIEW_DAYS, COUNTERS];

/// The kind of a MongoDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Standalone,
    ReplicaSet,
    Sharded,
}

/// `deployment`: the one of the hot store. It is written if the database is new.
pub(super) async fn check(database: &Database, deployment: &str) -> Result<Kind, Refusal> {
    let hello = database.run_command(doc! { "hello": 1 }).await.map_err(away)?;
    let kind = Kind::of(&hello);
    let (mut mistakes, mut has_order) = (Vec::new(), false);
    let collections: Vec<_> = database
        .run_cursor_command(doc! { "listCollections": 1 })
        .await
        .map_err(away)?
        .try_collect()
        .await
        .map_err(away)?;
    for collection in collections {
        let Some(name) =
            COLLECTIONS.into_iter().find(|name| collection.get_str("name").is_ok_and(|found| found == *name))
        else {
            continue;
        };
        let found = collection_mistakes(name, &collection);
        if found.is_empty() {
            let indexes = doc! { "listIndexes": name };
            let indexes = database.run_cursor_command(indexes).await.map_err(away)?;
            let indexes: Vec<_> = indexes.try_collect().await.map_err(away)?;
            mistakes.extend(indexes.iter().filter_map(|index| index_mistake(name, index)));
            has_order |= name == COUNTERS && indexes.iter().any(is_largest_first);
        }
        mistakes.extend(found);
    }
    if mistakes.is_empty() {
        let found = claim(database, deployment, kind.read_concern()).await?;
        mistakes.extend(deployment_mistake(database.name(), deployment, found.as_ref()));
    }
    if !mistakes.is_empty() {
        return Err(Refusal::Unfit(mistakes));
    }
    if !has_order {
        make_order(database).await?;
    }
    Ok(kind)
}

/// Makes the index of the largest numbers, and the collection with it. Several gateways may do so at the same time.
async fn make_order(database: &Database) -> Result<(), Refusal> {
    let index = IndexModel::builder().keys(largest_first()).build();
    let collection = database.collection::<Document>(COUNTERS);
    collection.create_index(index).write_concern(durably()).await.map(drop).map_err(away)
}

/// Whether an index, as `listIndexes` describes it, is that of the largest numbers.
fn is_largest_first(index: &Document) -> bool {
    let Ok(key) = index.get_document("key") else { return false };
    let order = largest_first();
    key.keys().eq(order.keys()) && key.values().map(whole).eq(order.values().map(whole))
}

/// Writes the owner of the database unless there is one, and reads the owner.
async fn claim(database: &Database, deployment: &str, concern: ReadConcern) -> Result<Option<Document>, Refusal> {
    let id = doc! { "_id": "deployment" };
    let update = doc! { "$setOnInsert": { "deployment": deployment, "format": FORMAT } };
    let update = doc! { "q": id.clone(), "u": update, "upsert": true };
    let command = doc! { "update": META, "updates": [update], "writeConcern": super::write_concern() };
    let answer = database.run_command(command).await.map_err(away)?;
    // Another gateway may have written its deployment at the same time: the read tells.
    Reply::read(&answer, 1, 1).map_err(Refusal::Away)?;
    let meta = database.collection::<Document>(META);
    let asked = meta.find_one(id).max_time(READ_TIMEOUT).read_concern(concern).selection_criteria(newest());
    asked.await.map_err(away)
}

fn away(error: mongodb::error::Error) -> Refusal {
    Refusal::Away(describe(&error))
}

impl Kind {
    fn of(hello: &Document) -> Self {
        if hello.get_str("msg").is_ok_and(|message| message == "isdbgrid") {
            Kind::Sharded
        } else if hello.contains_key("setName") {
            Kind::ReplicaSet
        } else {
            Kind::Standalone
        }
    }

    /// The read concern with which a read on the primary sees every write that was answered before.
    ///
    /// A primary that was replaced by another does not notice at once. With "majority" it still answers from its own
    /// data, without the writes that the new primary took. With "linearizable" it first asks a majority whether it
    /// still is the primary. MongoDB promises that for one document; for several it holds for each of them, which is
    /// enough here. A standalone server has no other members to ask, and refuses "linearizable".
    pub fn read_concern(self) -> ReadConcern {
        match self {
            Kind::Standalone => ReadConcern::local(),
            Kind::ReplicaSet | Kind::Sharded => ReadConcern::linearizable(),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Kind::Standalone => "a server alone",
            Kind::ReplicaSet => "a replica set",
            Kind::Sharded => "a sharded cluster",
        }
    }
}

/// The mistakes in a collection, as `listCollections` describes it.
fn collection_mistakes(name: &str, collection: &Document) -> Vec<String> {
    let options = collection.get_document("options").cloned().unwrap_or_default();
    let mut mistakes = Vec::new();
    let mut mistake = |what: &str| {
        mistakes.push(format!(
            "statistics.database: the collection {name} {what}; move its documents to a plain collection of that name, or \
             name another database"
        ));
    };
    let kind = collection.get_str("type").unwrap_or("collection");
    if kind != "collection" {
        mistake(&format!("is no collection but a {kind}"));
    }
    if options.get_bool("capped").unwrap_or(false) {
        mistake("is capped, which drops old documents");
    }
    if options.contains_key("expireAfterSeconds") {
        mistake("lets documents expire");
    }
    let collation = options.get_document("collation").and_then(|collation| collation.get_str("locale"));
    if collation.is_ok_and(|locale| locale != "simple") {
        mistake("has a collation, by which different contents may be one");
    }
    mistakes
}

/// The mistake in an index, as `listIndexes` describes it.
fn index_mistake(collection: &str, index: &Document) -> Option<String> {
    let of_id = index.get_document("key").is_ok_and(|key| key.keys().eq(["_id"]));
    let name = index.get_str("name").unwrap_or("?");
    let mistake = |what: &str| {
        format!(
            "statistics.database: the index {name} of the collection {collection} {what}; drop it, nothing needs it"
        )
    };
    match index {
        _ if index.contains_key("expireAfterSeconds") => Some(mistake("lets documents expire")),
        _ if !of_id && index.get_bool("unique").unwrap_or(false) => {
            Some(mistake("is unique, so documents would be refused"))
        }
        _ => None,
    }
}

fn deployment_mistake(database: &str, deployment: &str, found: Option<&Document>) -> Option<String> {
    let field = |name| found.and_then(|found| found.get(name)).cloned().unwrap_or(Bson::Null);
    let (owner, format) = (field("deployment"), field("format"));
    if format != Bson::Int32(FORMAT) && format != Bson::Int64(FORMAT.into()) {
        return Some(format!(
            "statistics.database: {database} has the format {format}, and this version reads {FORMAT}; use the version that \
             made it, or name another database"
        ));
    }
    (owner.as_str() != Some(deployment)).then(|| {
        format!(
            "statistics.database: {database} belongs to the deployment {owner}, and the hot store to {deployment:?}; name the \
             database of this deployment, or a new one"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collection(kind: &str, options: Document) -> Vec<String> {
        collection_mistakes("views", &doc! { "name": "views", "type": kind, "options": options })
    }

    #[test]
    fn a_collection_that_would_lose_or_join_documents_is_refused() {
        assert_eq!(collection("collection", doc! {}), [""; 0]);
        assert_eq!(collection("collection", doc! { "collation": { "locale": "simple" } }), [""; 0]);
        assert_eq!(collection("collection", doc! { "validator": {}, "capped": false }), [""; 0]);
        for (kind, options, word) in [
            ("view", doc! { "viewOn": "x" }, "a view"),
            ("timeseries", doc! {}, "a timeseries"),
            ("collection", doc! { "capped": true, "size": 4096 }, "capped"),
            ("collection", doc! { "clusteredIndex": true, "expireAfterSeconds": 60_i64 }, "expire"),
            ("collection", doc! { "collation": { "locale": "en", "strength": 1 } }, "collation"),
        ] {
            let mistakes = collection(kind, options);
            assert!(mistakes.len() == 1 && mistakes[0].contains(word), "{word}: {mistakes:?}");
            assert!(mistakes[0].starts_with("statistics.database: the collection views "), "{mistakes:?}");
        }
    }

    #[test]
    fn an_index_that_refuses_or_removes_documents_is_refused() {
        let index = |index: Document| index_mistake("views", &index).unwrap_or_default();
        assert_eq!(index(doc! { "name": "_id_", "key": { "_id": 1 } }), "");
        assert_eq!(index(doc! { "name": "_id_", "key": { "_id": 1 }, "unique": true, "clustered": true }), "");
        assert_eq!(index(doc! { "name": "total_1", "key": { "total": 1 } }), "");
        let unique = index(doc! { "name": "total_1", "key": { "total": 1 }, "unique": true });
        assert!(
            unique.starts_with("statistics.database: the index total_1 of the collection views is unique"),
            "{unique}"
        );
        assert!(index(doc! { "name": "t", "key": { "t": 1 }, "expireAfterSeconds": 1 }).contains("expire"));
    }

    #[test]
    fn the_index_of_the_largest_numbers_is_known_by_its_fields() {
        let is = |key: Document| is_largest_first(&doc! { "name": "x", "key": key });
        assert!(is(doc! { "c": 1, "n": -1, "k": 1 }));
        assert!(is(doc! { "c": 1.0, "n": -1_i64, "k": 1 }), "made in the shell");
        for other in [doc! { "_id": 1 }, doc! { "c": 1, "n": 1, "k": 1 }, doc! { "n": -1, "c": 1, "k": 1 }] {
            assert!(!is(other.clone()), "{other}");
        }
        for other in [doc! { "c": 1, "n": -1 }, doc! { "c": 1, "n": -1, "k": 1, "s": 1 }, doc! { "c": "hashed" }] {
            assert!(!is(other.clone()), "{other}");
        }
    }

    #[test]
    fn a_database_has_one_deployment_and_one_format() {
        let of = |found: Option<&Document>| deployment_mistake("heartline", "6f1c", found).unwrap_or_default();
        assert_eq!(of(Some(&doc! { "_id": "deployment", "deployment": "6f1c", "format": 1 })), "");
        let other = of(Some(&doc! { "deployment": "0000", "format": 1_i64 }));
        assert!(other.contains("belongs to the deployment \"0000\", and the hot store to \"6f1c\""), "{other}");
        let newer = of(Some(&doc! { "deployment": "6f1c", "format": 2 }));
        assert!(newer.contains("has the format 2, and this version reads 1"), "{newer}");
        assert!(of(None).contains("has the format null"));
    }

    #[test]
    fn reads_ask_a_majority_where_there_is_one() {
        let kind = |hello: Document| Kind::of(&hello);
        let standalone = kind(doc! { "isWritablePrimary": true });
        let set = kind(doc! { "isWritablePrimary": true, "setName": "rs0" });
        let sharded = kind(doc! { "isWritablePrimary": true, "msg": "isdbgrid" });
        assert_eq!((standalone, set, sharded), (Kind::Standalone, Kind::ReplicaSet, Kind::Sharded));
        assert_eq!(standalone.read_concern(), ReadConcern::local());
        assert_eq!([set, sharded].map(Kind::read_concern), [ReadConcern::linearizable(), ReadConcern::linearizable()]);
    }
}
