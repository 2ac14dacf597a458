//! A write to each node every second. A server that is full, read-only or may not write to its disk still answers reads,
//! and without changes nothing else would notice.

use ::redis::aio::MultiplexedConnection;
use ::redis::{Pipeline, ServerError, Value};

use super::address::Address;
use super::dial;
use super::refused::RefusalCause;
use super::tag;
use model::shard::Shard;

/// The key is gone so long after the last write.
const SECONDS: u64 = 60;

/// The part of the key after the tag of its shard. All gateways write the same one of a node.
pub(super) const NAME: &str = ":probe";

/// Writes a small key of the first of these shards. Returns why the server takes no writes; `None`: it does, or the
/// shard is on another node by now.
///
/// # Errors
/// There is no answer.
pub(super) async fn write(
    connection: &mut MultiplexedConnection,
    address: &Address,
    shards: &[Shard],
) -> Result<Option<String>, RefusalCause> {
    let Some(shard) = shards.first() else { return Ok(None) };
    let mut command = Pipeline::with_capacity(1);
    command.cmd("SETEX").arg(tag(*shard) + NAME).arg(SECONDS).arg(1);
    let values = dial::send(connection, &command, 1).await.map_err(|error| dial::trouble(address, &error))?;
    Ok(values.into_iter().find_map(|value| match value {
        Value::ServerError(error) if !dial::is_elsewhere(&error) => Some(refusal(address, error)),
        _ => None,
    }))
}

fn refusal(address: &Address, error: ServerError) -> String {
    let code = error.code().to_owned();
    let said = dial::text(&error.into());
    match &*code {
        "OOM" => format!("{address} is out of memory ({said})"),
        "READONLY" => format!("{address} is read-only ({said})"),
        _ => format!("{address} refuses writes ({said})"),
    }
}
