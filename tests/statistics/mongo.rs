//! The statistics store in what all tests share, which speaks MongoDB's protocol.

use heartline::model::secret::Secret;
use heartline::storage_mongodb::{Metrics, MongoConfig, MongoRefused, MongoStatistics};

use crate::statistics::words;

const URL: &str = "HEARTLINE_TEST_MONGO";

/// As it is in Redis.
pub const DEPLOYMENT: &str = "6f1c0a52-0000-4000-8000-000000000001";

/// A database of a test's own.
pub struct OnMongo {
    pub settings: MongoConfig,
}

/// The address of the server for all tests.
pub fn shared() -> String {
    std::env::var(URL).unwrap_or_else(|_| panic!("{URL} is not set; run: tests/run statistics"))
}

impl OnMongo {
    pub fn at(url: &str) -> Self {
        let database = format!("test-{:016x}", rand::random::<u64>());
        OnMongo { settings: MongoConfig { url: Secret::new(url.to_owned()), database } }
    }

    pub fn opened(&self) -> Result<MongoStatistics, MongoRefused> {
        MongoStatistics::open(&self.settings, DEPLOYMENT, Metrics::default())
    }

    /// The code that the process would end with, and what it would say.
    pub fn refusal(&self) -> (u8, String) {
        let refused = self.opened().map(drop).unwrap_err();
        (refused.exit_code(), refused.to_string())
    }

    /// As an operator sees it.
    pub fn look<T>(&self, look: impl AsyncFnOnce(mongodb::Database) -> mongodb::error::Result<T>) -> T {
        words::wait(async {
            let client = mongodb::Client::with_uri_str(self.settings.url.expose()).await.unwrap();
            look(client.database(&self.settings.database)).await.unwrap()
        })
    }
}

impl words::Backend for OnMongo {
    type Store = MongoStatistics;

    fn new() -> Self {
        OnMongo::at(&shared())
    }

    fn open(&self) -> MongoStatistics {
        self.opened().unwrap()
    }
}
