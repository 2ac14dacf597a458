//! Why a server of the fleet cannot be used, as a reason why a role did not start.

use super::super::error::StartError;
use storage_cassandra::CassandraRefused;
use storage_kafka::{event_bus, history_bus};
use storage_mongodb::MongoRefused;
use storage_redis::RedisRefused;
use storage_remote::RemoteRefused;

macro_rules! server {
    ($refused:ty, $exit_code:expr) => {
        impl From<$refused> for StartError {
            fn from(refused: $refused) -> Self {
                StartError::Server { exit_code: $exit_code(&refused), said: refused.to_string() }
            }
        }
    };
}

server!(RedisRefused, RedisRefused::exit_code);
server!(RemoteRefused, RemoteRefused::exit_code);
server!(CassandraRefused, CassandraRefused::exit_code);
server!(MongoRefused, MongoRefused::exit_code);
// Kafka is waited for. What is refused are its settings.
server!(event_bus::KafkaRefused, |_: &_| 78);
server!(history_bus::KafkaRefused, |_: &_| 78);
