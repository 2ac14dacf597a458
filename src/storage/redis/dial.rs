//! One connection to a server, and the state that the server reports.

use std::collections::HashMap;
use std::time::Duration;

use ::redis::aio::{AsyncPushSender, MultiplexedConnection};
use ::redis::{
    AsyncConnectionConfig, Client, ConnectionInfo, ErrorKind, Pipeline, ProtocolVersion, RedisError, ServerError,
    ServerErrorKind, Value, cmd, from_redis_value,
};

use super::address::Address;
use super::check::{self, Server, Settings};
use super::deployment::{self, Mark};
use super::refused::RefusalCause;
use super::target::Target;
use super::{tls_fault, wrong_port};
use model::shard::Shard;
use storage::config::redis::Durability;

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
    open(target, address, target.server(address), config()).await
}

/// Connects to one of the target's servers to be told of what is published.
pub(super) async fn listener(
    target: &Target,
    address: &Address,
    pushes: impl AsyncPushSender,
) -> Result<MultiplexedConnection, RefusalCause> {
    let info = target.server(address).map(|info| {
        let login = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        info.set_redis_settings(login)
    });
    open(target, address, info, config().set_push_sender(pushes)).await
}

/// Connects to a Sentinel of the target.
pub(super) async fn sentinel(target: &Target, address: &Address) -> Result<MultiplexedConnection, RefusalCause> {
    open(target, address, target.sentinel(address), config()).await
}

fn config() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT))
        .set_pipeline_buffer_size(QUEUE)
        .set_write_backpressure_boundary(WRITE_BYTES)
}

async fn open(
    target: &Target,
    address: &Address,
    info: Result<ConnectionInfo, RedisError>,
    config: AsyncConnectionConfig,
) -> Result<MultiplexedConnection, RefusalCause> {
    let connected = async { Client::open(info?)?.get_multiplexed_async_connection_with_config(&config).await };
    match connected.await {
        Ok(mut connection) => {
            name(&mut connection, CLIENT_NAME).await;
            Ok(connection)
        }
        Err(error) => Err(unopened(target, address, &error).await),
    }
}

/// The reason why there is no connection, in plain words.
async fn unopened(target: &Target, address: &Address, error: &RedisError) -> RefusalCause {
    let (trouble, said) = (trouble(address, error), text(error));
    if matches!(trouble, RefusalCause::Unfit(_)) {
        return trouble;
    }
    let fault = target.tls.as_ref().and_then(|tls| tls_fault::told(address, tls, &said));
    if let Some(line) = fault {
        return RefusalCause::unfit(line);
    }
    let other = match &target.tls {
        Some(_) => wrong_port::is_plain(address, error).await,
        None => wrong_port::is_encrypted(address, error).await,
    };
    other.map_or(trouble, RefusalCause::unfit)
}

/// Names the connection. A server that does not allow it serves as well.
pub(super) async fn name(connection: &mut MultiplexedConnection, name: &str) {
    let _: Result<Value, _> = cmd("CLIENT").arg("SETNAME").arg(name).query_async(connection).await;
}

/// The reason to refuse a server after a failed call.
pub(super) fn trouble(address: &Address, error: &RedisError) -> RefusalCause {
    let credentials = || {
        RefusalCause::unfit(format!(
            "{address} does not let this user in ({}); set the user and the password in redis.url, or allow the user what \
             is missing",
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

/// Reads the state of the server, and its settings unless they are its provider's.
pub(super) async fn look(
    connection: &mut MultiplexedConnection,
    address: &Address,
    durability: Durability,
) -> Result<Server, RefusalCause> {
    let away = |error: RedisError| trouble(address, &error);
    if durability == Durability::Managed {
        let info = as_far_as_it_says(connection).await.map_err(away)?;
        return Ok(Server { info, config: Settings::NotAsked });
    }
    let mut ask = cmd("INFO");
    ask.arg(&check::SECTIONS);
    let info: String = ask.query_async(connection).await.map_err(away)?;
    let mut get = cmd("CONFIG");
    get.arg("GET").arg(check::asked().collect::<Vec<_>>());
    let config = match get.query_async(connection).await {
        Ok(config) => Settings::Told(config),
        Err(error) if error.is_io_error() => return Err(away(error)),
        Err(error) => Settings::Refused(text(&error)),
    };
    Ok(Server { info: Server::info(&info), config })
}

/// The lines of `INFO` of a provider's server. It may know no sections, or not allow the command: then there are none.
async fn as_far_as_it_says(connection: &mut MultiplexedConnection) -> Result<HashMap<String, String>, RedisError> {
    for sections in [&check::SECTIONS[..], &[]] {
        let mut ask = cmd("INFO");
        ask.arg(sections);
        match ask.query_async::<String>(connection).await {
            Ok(info) => return Ok(Server::info(&info)),
            Err(error) if error.is_io_error() => return Err(error),
            Err(_) => {}
        }
    }
    Ok(HashMap::new())
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
