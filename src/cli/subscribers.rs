//! `heartline subscribers`: shows and changes the subscribers of a running gateway.
//!
//! Prints the JSON of the control listener's `/v1/subscribers`, one line each. The list comes with a warning on standard error
//! while no cascade runs.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use clap::{Args, Subcommand};
use http::Method;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::gateway::{self, Gateway, GatewayError};
use crate::config::Config;
use model::subscribers::SubscriberId;

/// A deletion waits for a request that is under way.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(100);

#[derive(Debug, Subcommand)]
pub enum SubscribersCommand {
    /// Print all subscribers.
    List,
    /// Print one subscriber.
    Show { id: SubscriberId },
    /// Make a subscriber, or replace it as a whole. Prints its secret when it is made here.
    Put {
        id: SubscriberId,
        #[command(flatten)]
        definition: DefinitionArgs,
    },
    /// Delete a subscriber with its queue. Ends when nothing is sent to it any more.
    Delete { id: SubscriberId },
    /// Stop deliveries; events are queued.
    Pause { id: SubscriberId },
    /// Deliver again, at once.
    Resume { id: SubscriberId },
    /// Make a new secret, and print it. The one before it goes on signing for subscribers.secret_overlap.
    Rotate { id: SubscriberId },
    /// Empty the queue, and fill it with what the event log has since a time.
    Replay {
        id: SubscriberId,
        /// Such as 2026-11-20T00:00:00Z.
        #[arg(long, value_name = "TIME")]
        since: String,
    },
    /// Print the events that were given up, the oldest first.
    Dead {
        id: SubscriberId,
        /// Queue them again, as many as there is room for, instead of printing them.
        #[arg(long)]
        resend: bool,
    },
}

#[derive(Args, Debug)]
pub struct DefinitionArgs {
    /// The endpoint.
    #[arg(long)]
    url: String,
    /// A type of event, such as dev.heartline.reward.v1. May be given several times.
    #[arg(long = "type", value_name = "TYPE", required = true)]
    types: Vec<String>,
    /// Only rewards of this rule. May be given several times, like all that follow.
    #[arg(long = "rule", value_name = "ID")]
    rules: Vec<String>,
    /// Only crossings of this counter.
    #[arg(long = "counter", value_name = "ID")]
    counters: Vec<String>,
    /// Only events of contents of this kind.
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<u16>,
    /// Only events of this content, such as 1:100.
    #[arg(long = "content", value_name = "KIND:OID")]
    contents: Vec<String>,
    /// Only events of this user.
    #[arg(long = "mid", value_name = "MID")]
    mids: Vec<String>,
    /// Events of one request, 1 to 100.
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    batch: u16,
    /// A file with the secret, whsec_ and Base64. Left out: the present one stays, or one is made.
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    subscribers: Vec<&'a RawValue>,
    next: Option<String>,
    /// An older gateway does not tell it.
    cascade: Option<Cascade>,
}

#[derive(Deserialize)]
struct Cascade {
    looked_at: Option<u64>,
    away: bool,
}

#[derive(Deserialize)]
struct DeadPage<'a> {
    #[serde(borrow)]
    dead: Vec<&'a RawValue>,
    next: u64,
}

/// Runs the command, and returns the text to print.
pub fn run(config: &Config, command: SubscribersCommand) -> Result<String, GatewayError> {
    let gateway = Gateway::control(config)?;
    gateway::runtime()?.block_on(answer(&gateway, command))
}

async fn answer(gateway: &Gateway, command: SubscribersCommand) -> Result<String, GatewayError> {
    let call = async |method, path: String, body: Option<Value>| {
        let answer = gateway.call(method, &path, body.map(|body| body.to_string()), ANSWER_TIMEOUT).await?;
        line(gateway, &answer)
    };
    match command {
        SubscribersCommand::List => list(gateway).await,
        SubscribersCommand::Show { id } => call(Method::GET, path(&id), None).await,
        SubscribersCommand::Put { id, definition } => call(Method::PUT, path(&id), Some(definition.body()?)).await,
        SubscribersCommand::Delete { id } => call(Method::DELETE, path(&id), None).await,
        SubscribersCommand::Pause { id } => call(Method::POST, path(&id) + "/pause", None).await,
        SubscribersCommand::Resume { id } => call(Method::POST, path(&id) + "/resume", None).await,
        SubscribersCommand::Rotate { id } => call(Method::POST, path(&id) + "/rotate", None).await,
        SubscribersCommand::Replay { id, since } => {
            call(Method::POST, path(&id) + "/replay", Some(json!({ "since": since }))).await
        }
        SubscribersCommand::Dead { id, resend: true } => call(Method::POST, path(&id) + "/dead/resend", None).await,
        SubscribersCommand::Dead { id, resend: false } => dead(gateway, &id).await,
    }
}

async fn list(gateway: &Gateway) -> Result<String, GatewayError> {
    let (mut text, mut after) = (String::new(), String::new());
    loop {
        let body = gateway.get(&format!("/v1/subscribers?after={after}"), ANSWER_TIMEOUT).await?;
        let page: Page = serde_json::from_slice(&body).map_err(|error| gateway.strange(&error))?;
        page.subscribers.iter().for_each(|subscriber| text += &format!("{subscriber}\n"));
        let Some(next) = page.next else {
            if let Some(warning) = page.cascade.and_then(|cascade| cascade.warning()) {
                eprintln!("heartline: warning: {warning}");
            }
            return Ok(text);
        };
        after = next;
    }
}

async fn dead(gateway: &Gateway, id: &SubscriberId) -> Result<String, GatewayError> {
    let (mut text, mut after) = (String::new(), 0);
    loop {
        let body = gateway.get(&format!("{}/dead?after={after}", path(id)), ANSWER_TIMEOUT).await?;
        let page: DeadPage = serde_json::from_slice(&body).map_err(|error| gateway.strange(&error))?;
        page.dead.iter().for_each(|letter| text += &format!("{letter}\n"));
        if page.next <= after {
            return Ok(text);
        }
        after = page.next;
    }
}

impl Cascade {
    fn warning(&self) -> Option<String> {
        let time = |at| humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(at));
        let seen = match self.looked_at {
            Some(at) => format!("no cascade has looked at the event bus since {}", time(at)),
            None => "no cascade has ever looked at the event bus".to_owned(),
        };
        self.away.then(|| format!("{seen}; subscribers get nothing until one runs"))
    }
}

fn path(id: &SubscriberId) -> String {
    format!("/v1/subscribers/{id}")
}

/// An answer without a body is no line.
fn line(gateway: &Gateway, answer: &Bytes) -> Result<String, GatewayError> {
    let text = std::str::from_utf8(answer).map_err(|error| gateway.strange(&error))?;
    Ok(if text.is_empty() { String::new() } else { format!("{text}\n") })
}

impl DefinitionArgs {
    fn body(self) -> Result<Value, GatewayError> {
        let DefinitionArgs { url, types, rules, counters, kinds, contents, mids, batch, secret_file } = self;
        let fields = [
            ("rules", json!(rules)),
            ("counters", json!(counters)),
            ("kinds", json!(kinds)),
            ("contents", json!(contents)),
            ("mids", json!(mids)),
        ];
        let given = fields.into_iter().filter(|(_, values)| values.as_array().is_some_and(|values| !values.is_empty()));
        let filter: Map<String, Value> = given.map(|(name, values)| (name.to_owned(), values)).collect();
        let mut body = json!({ "url": url, "types": types, "filter": filter, "batch": batch });
        if let Some(file) = secret_file {
            let secret = fs::read_to_string(&file);
            let secret = secret.map_err(|error| GatewayError::SecretFile(file.display().to_string(), error))?;
            body["secret"] = json!(secret.trim());
        }
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(page: &str) -> Option<String> {
        let page: Page = serde_json::from_str(page).expect("a page");
        page.cascade.and_then(|cascade| cascade.warning())
    }

    #[test]
    fn a_list_without_a_cascade_comes_with_a_warning() {
        let warns = |seen| Some(format!("no cascade {seen}; subscribers get nothing until one runs"));
        let never = r#"{"subscribers":[],"cascade":{"away":true}}"#;
        assert_eq!(warning(never), warns("has ever looked at the event bus"));
        let stopped = r#"{"subscribers":[],"cascade":{"looked_at":1795132800999,"away":true}}"#;
        assert_eq!(warning(stopped), warns("has looked at the event bus since 2026-11-20T00:00:00Z"));
        assert_eq!(warning(r#"{"subscribers":[],"cascade":{"looked_at":1795132800999,"away":false}}"#), None);
        assert_eq!(warning(r#"{"subscribers":[]}"#), None, "of an older gateway");
    }
}
