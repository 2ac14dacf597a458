//! One connection to a server, and the state that the server reports.

use std::time::Duration;

use ::redis::aio::{AsyncPushSender, MultiplexedConnection};
use ::redis::{
    AsyncConnectionConfig, Client, ErrorKind, Pipeline, ProtocolVersion, RedisError, ServerError, ServerErrorKind,
    Value, cmd, from_redis_value,
};

use super::check::{self, Server};
use super::deployment::{self, Mark};
use super::refused::RefusalCause;
use super::target::{Address, Target};
use model::shard::Shard;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// A server without an answer for so long counts as away, and the connection is closed, so that the requests that wait
/// on it are bounded. A sync, a rewrite of the file or a long script may delay an answer for some time.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);
/// Messages that wait to be written to a connection; beyond it senders wait.
const QUEUE: usize = 64;
/// The name of each connection, by which `heartline rebuild` finds gateways that still run.
pub(super) const CLIENT_NAME: &str = "heartline";
/// Bytes that are gathered before they are written: a group.
const WRITE_BYTES: usize = 64 * 1024;

/// Connects to one of the target's servers. Must run on the runtime that drives the connection.
pub(super) async fn server(target: &Target, address: &Address) -> Result<MultiplexedConnection, RefusalCause> {
    let info = target.server(address).map_err(|error| trouble(address, &error))?;
    open(Client::open(info), address, config()).await
}

/// Connects to one of the target's servers to be told of what is published.
pub(super) async fn listener(
    target: &Target,
    address: &Address,
    pushes: impl AsyncPushSender,
) -> Result<MultiplexedConnection, RefusalCause> {
    let info = target.server(address).map_err(|error| trouble(address, &error))?;
    let login = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    open(Client::open(info.set_redis_settings(login)), address, config().set_push_sender(pushes)).await
}

/// Connects to a Sentinel.
pub(super) async fn sentinel(address: &Address) -> Result<MultiplexedConnection, RefusalCause> {
    let info = address.info().map_err(|error| trouble(address, &error))?;
    open(Client::open(info), address, config()).await
}

fn config() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT))
        .set_pipeline_buffer_size(QUEUE)
        .set_write_backpressure_boundary(WRITE_BYTES)
}

async fn open(
    client: Result<Client, RedisError>,
    address: &Address,
    config: AsyncConnectionConfig,
) -> Result<MultiplexedConnection, RefusalCause> {
    let connected = async { client?.get_multiplexed_async_connection_with_config(&config).await };
    let mut connection = connected.await.map_err(|error| trouble(address, &error))?;
    name(&mut connection, CLIENT_NAME).await;
    Ok(connection)
}

/// Names the connection. A server that does not allow it serves as well.
pub(super) async fn name(connection: &mut MultiplexedConnection, name: &str) {
    let _: Result<Value, _> = cmd("CLIENT").arg("SETNAME").arg(name).query_async(connection).await;
}

/// The reason to refuse a server after a failed call.
pub(super) fn trouble(address: &Address, error: &RedisError) -> RefusalCause {
    let credentials = || {
        RefusalCause::unfit(format!(
            "{address} does not let this user in ({}); set the user and the password in redis.url, or allow him what is \
             missing",
            text(error)
        ))
    };
    match error.kind() {
        ErrorKind::AuthenticationFailed | ErrorKind::Server(ServerErrorKind::NoPerm) => credentials(),
        _ if matches!(error.code(), Some("NOAUTH" | "WRONGPASS")) => credentials(),
        _ => RefusalCause::Away(format!("{address}: {}", text(error))),
    }
}

/// On one line.
pub(super) fn text(error: &RedisError) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Sends all and reads all answers, errors among them.
pub(super) async fn send(
    connection: &mut MultiplexedConnection,
    commands: &Pipeline,
    count: usize,
) -> Result<Vec<Value>, RedisError> {
    match count {
        0 => Ok(Vec::new()),
        count => connection.send_packed_commands(commands, 0, count).await,
    }
}

/// Reads the state and the settings of the server.
pub(super) async fn look(connection: &mut MultiplexedConnection, address: &Address) -> Result<Server, RefusalCause> {
    let away = |error: RedisError| trouble(address, &error);
    let mut ask = cmd("INFO");
    ask.arg(&check::SECTIONS);
    let info: String = ask.query_async(connection).await.map_err(away)?;
    let mut get = cmd("CONFIG");
    get.arg("GET").arg(check::asked().collect::<Vec<_>>());
    let config = match get.query_async(connection).await {
        Ok(config) => Ok(config),
        Err(error) if error.is_io_error() => return Err(away(error)),
        Err(error) => Err(text(&error)),
    };
    Ok(Server { info: Server::info(&info), config })
}

/// The deployment keys of these shards. Shards that are on another node by now, or on their way there, are left out:
/// this server refuses commands about them.
pub(super) async fn marks(
    connection: &mut MultiplexedConnection,
    address: &Address,
    shards: &[Shard],
) -> Result<Vec<(Shard, Mark)>, RefusalCause> {
    let mut commands = Pipeline::with_capacity(shards.len());
    for shard in shards {
        commands.cmd("GET").arg(deployment::key(*shard));
    }
    let values = send(connection, &commands, shards.len()).await.map_err(|error| trouble(address, &error))?;
    let mut marks = Vec::with_capacity(shards.len());
    for (shard, value) in shards.iter().zip(values) {
        let value: Option<Vec<u8>> = match value {
            Value::ServerError(error) if is_elsewhere(&error) => continue,
            Value::ServerError(error) => return Err(trouble(address, &error.into())),
            value => from_redis_value(value).map_err(|error| trouble(address, &error.into()))?,
        };
        marks.push((*shard, Mark::read(value.as_deref())));
    }
    Ok(marks)
}

/// Whether the command was refused because another node has the key, or will have it in a moment.
pub(super) fn is_elsewhere(error: &ServerError) -> bool {
    use ServerErrorKind::{Ask, Moved, TryAgain};
    matches!(error.kind(), Some(Moved | Ask | TryAgain))
}

/// Loads a script, if it is not there.
pub(super) async fn load(connection: &mut MultiplexedConnection, script: &::redis::Script) -> Result<(), RedisError> {
    script.load_async(connection).await.map(|_| ())
}

/// The server's clock, milliseconds since 1970.
pub(super) async fn time(connection: &mut MultiplexedConnection) -> Result<u64, RedisError> {
    let (seconds, micros): (u64, u64) = cmd("TIME").query_async(connection).await?;
    Ok(seconds * 1000 + micros / 1000)
}
