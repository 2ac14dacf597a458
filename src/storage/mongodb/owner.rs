//! The deployment that a database belongs to, and its handing over to another one after the hot store was lost.

use std::time::Duration;

use mongodb::bson::{Document, doc};
use mongodb::error::Error;
use tokio::time::timeout;

use super::check::META;
use super::config::MongoConfig;
use super::connect;
use super::counter_document::COUNTERS;
use super::durably;
use super::refused::{MongoRefused, Refusal, describe};

/// How long a request may take: the names of counters may be many.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The owner of a database, and what the next one has to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// `None`: the database is new.
    pub deployment: Option<String>,
    /// The generations of derived counters that have numbers here.
    pub generations: Vec<u32>,
}

impl Owner {
    /// Reads who owns the database.
    pub async fn read(config: &MongoConfig) -> Result<Self, MongoRefused> {
        config.check()?;
        answered(async {
            let client = connect::client(config.url.expose()).await?;
            let database = client.database(&config.database);
            let meta = database.collection::<Document>(META);
            let found = meta.find_one(doc! { "_id": "deployment" }).await.map_err(away)?;
            let deployment = found.and_then(|found| found.get_str("deployment").ok().map(str::to_owned));
            let named = database.collection::<Document>(COUNTERS).distinct("c", doc! {}).await.map_err(away)?;
            let generation = |name: &mongodb::bson::Bson| name.as_str()?.split_once(':')?.0.parse().ok();
            let mut generations: Vec<u32> = named.iter().filter_map(generation).collect();
            generations.sort_unstable();
            generations.dedup();
            Ok(Owner { deployment, generations })
        })
        .await
    }

    /// Makes this deployment the owner of the database. It may be done twice.
    pub async fn hand_over(config: &MongoConfig, deployment: &str) -> Result<(), MongoRefused> {
        answered(async {
            let client = connect::client(config.url.expose()).await?;
            let meta = client.database(&config.database).collection::<Document>(META);
            let change = doc! { "$set": { "deployment": deployment } };
            let changed = meta.update_one(doc! { "_id": "deployment" }, change).write_concern(durably()).await;
            changed.map(drop).map_err(away)
        })
        .await
    }
}

async fn answered<T>(answer: impl Future<Output = Result<T, Refusal>>) -> Result<T, MongoRefused> {
    match timeout(ANSWER_TIMEOUT, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(Refusal::Unfit(lines))) => Err(MongoRefused::Unfit(lines)),
        Ok(Err(Refusal::Away(why))) => Err(MongoRefused::Away(why)),
        Err(_) => Err(MongoRefused::Away("it does not answer".to_owned())),
    }
}

fn away(error: Error) -> Refusal {
    Refusal::Away(describe(&error))
}
