//! Why a Redis is not used, and how to fix it.

use std::io;

/// Why a start with this Redis is refused: one line for each problem, with its fix.
#[derive(Debug, thiserror::Error)]
pub enum RedisRefused {
    #[error("redis.url {0}")]
    Url(String),
    /// A file of TLS cannot be used.
    #[error("{0}")]
    Tls(String),
    #[error("{0}; start it, or set redis.url to a running one")]
    Unreachable(String),
    #[error("{}", .0.join("\n"))]
    Unfit(Vec<String>),
    #[error("cannot start the redis thread: {0}")]
    Process(io::Error),
}

impl RedisRefused {
    /// An exit code of `sysexits.h`.
    pub fn exit_code(&self) -> u8 {
        match self {
            RedisRefused::Url(_) | RedisRefused::Tls(_) | RedisRefused::Unfit(_) => 78,
            RedisRefused::Unreachable(_) => 69,
            RedisRefused::Process(_) => 71,
        }
    }
}

/// Why there is no connection just now.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RefusalCause {
    /// The server cannot be reached, which may pass by itself.
    Away(String),
    /// The server is not durable before the running rewrite of its append-only file has ended.
    Rewriting(String),
    /// An operator has to fix it.
    Unfit(Vec<String>),
}

impl RefusalCause {
    pub fn unfit(line: impl Into<String>) -> Self {
        RefusalCause::Unfit(vec![line.into()])
    }

    pub fn text(&self) -> String {
        match self {
            RefusalCause::Away(text) | RefusalCause::Rewriting(text) => text.clone(),
            RefusalCause::Unfit(lines) => lines.join("; "),
        }
    }
}

impl From<RefusalCause> for RedisRefused {
    fn from(trouble: RefusalCause) -> Self {
        match trouble {
            RefusalCause::Away(text) => RedisRefused::Unreachable(text),
            RefusalCause::Rewriting(text) => RedisRefused::Unfit(vec![text]),
            RefusalCause::Unfit(lines) => RedisRefused::Unfit(lines),
        }
    }
}
