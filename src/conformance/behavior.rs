//! How the gateway departs from its usual behavior, until a scenario changes it again.

use serde_json::{Value, json};

use super::beat::Key;

/// A client beats as often as this while it plays, so that a scenario takes seconds.
pub const INTERVAL_MS: u64 = 500;

/// The gateway's answer to an attempt to connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admission {
    #[default]
    Welcome,
    /// 503 at the upgrade.
    Refuse,
    /// As if the token were bad: 401, or a close with 4001.
    RefuseToken,
    /// A socket, and no welcome until the scenario sends one.
    Keep,
}

#[derive(Debug)]
pub struct Behavior {
    pub admission: Admission,
    /// Beats are read, and neither stored nor acked.
    pub holds_acks: bool,
    /// Reads wait until the scenario answers them.
    pub holds_reads: bool,
    /// Beats that cannot be read: a frame with one of them is answered with an `error`. `None`: those of the next frame.
    pub refuses: Option<Vec<Key>>,
    /// `POST /v1/beats` is answered with 503.
    pub refuses_posts: bool,
    /// How far the server's clock has been set, in milliseconds.
    pub clock_step: i64,
    pub token_seconds: i64,
    /// In acks, not in a welcome: a client has to keep it.
    pub flag: Option<String>,
    /// Unknown fields in all that is sent.
    pub says_more: bool,
    pub limits: Value,
}

impl Default for Behavior {
    fn default() -> Self {
        Behavior {
            admission: Admission::Welcome,
            holds_acks: false,
            holds_reads: false,
            refuses: Some(Vec::new()),
            refuses_posts: false,
            clock_step: 0,
            token_seconds: 3600,
            flag: None,
            says_more: false,
            limits: json!({
                "frame": 131_072, "beats": 500, "items": 500, "list": 200, "ack_delay": 30_000, "connections": 32,
                "frames_per_second": 20, "burst": 100, "bytes_per_second": 262_144, "bytes_burst": 4_194_304,
                "ping": 50_000, "idle": 75_000,
            }),
        }
    }
}
