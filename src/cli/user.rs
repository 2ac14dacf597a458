//! `heartline user`: the gateway's data of one user.

use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::Value;

use super::gateway::{self, Gateway, GatewayError};
use crate::config::Config;
use storage::hot_store::config::Backend;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
const RECORDS: usize = 20;

#[derive(Deserialize)]
struct Connected {
    gateway: String,
    hash: String,
    connections: Vec<Connection>,
}

#[derive(Deserialize)]
struct Connection {
    connection: String,
    address: String,
    device: String,
    since: u64,
}

#[derive(Deserialize)]
struct Exported {
    /// Missing for a name without a number.
    mid: Option<String>,
    sub: Option<String>,
    recording: Recording,
    rewards: Vec<Value>,
    records: Vec<Value>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct Recording {
    paused: bool,
}

/// Connections, recording, claims and newest records, as text. `user`: as in a query, `mid=42`.
pub fn report(config: &Config, user: &str) -> Result<String, GatewayError> {
    let gateway = Gateway::control(config)?;
    let (connected, exported) = gateway::runtime()?.block_on(async {
        let connected = gateway.get(&format!("/v1/connections?{user}"), ANSWER_TIMEOUT).await?;
        let exported = gateway.get(&format!("/v1/export?{user}&order=newest&limit={RECORDS}"), ANSWER_TIMEOUT).await?;
        Ok::<_, GatewayError>((connected, exported))
    })?;
    let connected: Connected = serde_json::from_slice(&connected).map_err(|error| gateway.strange(&error))?;
    let exported: Exported = serde_json::from_slice(&exported).map_err(|error| gateway.strange(&error))?;
    let others = match config.store.hot_store {
        Backend::Embedded => "",
        Backend::Redis => "; other gateways on the same Redis are not asked",
        Backend::HistoryService => "; other gateways of the history services are not asked",
    };
    Ok(written(&connected, &exported, others))
}

/// `others`: what is not said of connections to other gateways.
fn written(connected: &Connected, exported: &Exported, others: &str) -> String {
    let name = exported.sub.as_ref().map(|name| format!("{name:?}"));
    let words: Vec<_> = exported.mid.iter().cloned().chain(name).collect();
    let mut text = format!("user {} (in the log: {})\n", words.join(" "), connected.hash);
    let count = connected.connections.len();
    let _ = writeln!(text, "connections to {}{others}: {count}", connected.gateway);
    for Connection { connection, address, device, since } in &connected.connections {
        let since = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(*since));
        let device = if device.is_empty() { "-".to_owned() } else { device.escape_debug().to_string() };
        let _ = writeln!(text, "  {connection}  {address}  {device}  since {since}");
    }
    let recording = if exported.recording.paused { "paused" } else { "on" };
    let _ = writeln!(text, "recording: {recording}");
    let _ = writeln!(text, "claims: {}", exported.rewards.len());
    for claim in &exported.rewards {
        let _ = writeln!(text, "  {claim}");
    }
    let more = if exported.cursor.is_some() { ", the newest of more" } else { "" };
    let _ = writeln!(text, "records: {}{more}", exported.records.len());
    for record in &exported.records {
        let _ = writeln!(text, "  {record}");
    }
    text
}
