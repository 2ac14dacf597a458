//! One pipeline per beat: its row into the hash of its user, and its place into the user's timeline.

use heartline::model::beat::Beat;
use heartline::model::ids::{Content, UserId};
use redis::aio::MultiplexedConnection;
use redis::{Client, RedisError, pipe};
use tokio::sync::OnceCell;

use super::Row;

thread_local! {
    /// One connection for each serving thread, shared by all of its sockets.
    static CONNECTION: &'static OnceCell<MultiplexedConnection> = Box::leak(Box::default());
}

#[derive(Clone)]
pub struct Redis(Client);

impl Redis {
    pub fn at(address: &str) -> Result<Self, String> {
        Client::open(format!("redis://{address}")).map(Redis).map_err(told)
    }

    /// Redis answers after its log is on disk.
    pub async fn write(&self, user: UserId, beat: &Beat) -> Result<(), String> {
        let (rows, timeline, content) = (rows(user), timeline(user), field(beat.content));
        let mut pipeline = pipe();
        pipeline.hset(rows, &content, Row::of(beat).bytes()).ignore().zadd(timeline, &content, beat.at).ignore();
        pipeline.query_async(&mut self.connection().await?).await.map_err(told)
    }

    pub async fn read(&self, user: UserId, content: Content) -> Result<Option<Row>, String> {
        let mut command = redis::cmd("HGET");
        command.arg(rows(user)).arg(field(content));
        let row: Option<Vec<u8>> = command.query_async(&mut self.connection().await?).await.map_err(told)?;
        row.map(|bytes| Row::parse(&bytes)).transpose()
    }

    async fn connection(&self) -> Result<MultiplexedConnection, String> {
        let connection = CONNECTION.with(|connection| *connection);
        let connect = || self.0.get_multiplexed_async_connection();
        connection.get_or_try_init(connect).await.cloned().map_err(told)
    }
}

fn rows(user: UserId) -> String {
    format!("r:{}", user.0)
}

fn timeline(user: UserId) -> String {
    format!("t:{}", user.0)
}

fn field(content: Content) -> Vec<u8> {
    [&content.kind.to_be_bytes()[..], &content.oid.to_be_bytes()].concat()
}

fn told(error: RedisError) -> String {
    format!("the naive store on Redis: {error}")
}
